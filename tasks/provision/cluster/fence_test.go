package cluster

import (
	"strings"
	"testing"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/runplan/contract"
)

func TestFenced(t *testing.T) {
	lease := func(holder, fence string) apitest.Object {
		return apitest.Object{"metadata": apitest.Object{"annotations": apitest.Object{contract.AnnotationFence: fence,
			contract.AnnotationSetupKey: "k"}},
			"spec": apitest.Object{"holderIdentity": holder}}
	}
	for _, row := range []struct {
		name  string
		lease apitest.Object
		fence string
		code  int
		want  string
	}{
		{name: "a run that shares nothing asks nobody", code: 403},
		{name: "its own fence", lease: lease("me", "7"), fence: "7"},
		{name: "another key of its hub", lease: lease("me", "8"), fence: "7", want: "fence moved from 7 to 8"},
		{name: "another hub", lease: lease("other", "8"), fence: "7", want: `hub "other", setup "k"`},
		{name: "another hub with a fence that began anew", lease: lease("other", "7"), fence: "7",
			want: "must not use the platform"},
		{name: "nobody holds it", lease: lease("", "7"), fence: "7", want: "must not use the platform"},
		{name: "somebody has deleted it", fence: "7", want: "it no longer exists"},
		{name: "it cannot be read", lease: lease("me", "7"), fence: "7", code: 403, want: "forbidden"},
	} {
		t.Run(row.name, func(t *testing.T) {
			server := apitest.New(t, contract.NamespaceSystem)
			server.Serve("coordination.k8s.io/v1", "Lease", true)
			if row.lease != nil {
				server.Put("/apis/coordination.k8s.io/v1/namespaces/bflow-system/leases/bflow-platform", row.lease)
			}
			server.Refuse(func(apitest.Request) (int, string) { return row.code, "leases is forbidden" })
			c, err := New(server.Config(), "bench")
			if err != nil {
				t.Fatal(err)
			}
			err = c.Fenced(t.Context(), "me", row.fence)
			if (err != nil) != (row.want != "") || err != nil && !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}
