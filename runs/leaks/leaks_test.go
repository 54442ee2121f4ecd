package leaks_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs/leaks"
)

// lab is a hub with the target "lab" beside itself; each has a pod of a run that nobody knows.
func lab(t *testing.T) (hub, target *apitest.Server) {
	hub, target = apitest.New(t, "bench", "kube-system", contract.NamespaceSystem), apitest.New(t, "bench")
	hub.Put("/api/v1/namespaces/kube-system", apitest.Object{"metadata": apitest.Object{"uid": "hub-a"}})
	hub.Put("/api/v1/namespaces/bench", apitest.Object{
		"metadata": apitest.Object{"labels": apitest.Object{contract.LabelEnabled: "true"}}})
	hub.Serve("tekton.dev/v1", "PipelineRun", true)
	target.Serve("batch/v1", "Job", true)
	kubeconfig := fmt.Sprintf(
		`{"current-context":"t","clusters":[{"name":"t","cluster":{"server":%q}}],"contexts":[{"name":"t",`+
			`"context":{"cluster":"t"}}]}`, target.URL)
	text := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	hub.Put("/api/v1/namespaces/"+contract.NamespaceSystem+"/secrets/bflow-target-lab", apitest.Object{
		"metadata": apitest.Object{"labels": apitest.Object{contract.LabelTarget: "lab"}},
		"data":     apitest.Object{"kubeconfig": text(kubeconfig), "token": text("secret-token")},
	})
	for _, s := range []*apitest.Server{hub, target} {
		s.Put("/api/v1/namespaces/bench/pods/engine", apitest.Object{
			"metadata": apitest.Object{"creationTimestamp": "2020-01-01T00:00:00Z",
				"labels": apitest.Object{contract.LabelHub: "hub-a", contract.LabelRun: "gone", contract.LabelRelease: "r"}}})
	}
	return hub, target
}

func TestClean(t *testing.T) {
	for _, row := range []struct {
		name   string
		opts   leaks.Options
		refuse func(apitest.Request) (int, string) // of the hub
		down   bool                                // of the target
		found  string
		left   string // which servers have their pod still
		err    string
	}{
		{name: "all targets", found: "local lab", left: ""},
		{name: "a dry run deletes nothing", opts: leaks.Options{DryRun: true}, found: "local lab", left: "local lab"},
		{name: "one target", opts: leaks.Options{Targets: []string{"lab"}}, found: "lab", left: "local"},
		{name: "the hub alone needs no credentials", opts: leaks.Options{Targets: []string{"local"}},
			refuse: forbid("secrets"), found: "local", left: "lab"},
		{name: "who may not read credentials hears what that means", refuse: forbid("secrets"), found: "local", left: "lab",
			err: "bflow-controller searches the others itself"},
		{name: "and is refused for a target that was named", opts: leaks.Options{Targets: []string{"lab"}},
			refuse: forbid("secrets"), left: "local lab", err: "credentials of targets"},
		{name: "a target that nobody knows", opts: leaks.Options{Targets: []string{"lob"}}, left: "local lab",
			err: `no target "lob"; there are local, lab`},
		{name: "a target that is away hides no other", down: true, found: "local", left: "lab", err: `target "lab"`},
		{name: "the identity of the hub is asked for by who may", refuse: forbid("namespaces"), left: "local lab",
			err: "--namespace"},
	} {
		t.Run(row.name, func(t *testing.T) {
			hub, target := lab(t)
			hub.Refuse(row.refuse)
			target.Down(row.down)
			got, err := leaks.Clean(t.Context(), hub.Config(), row.opts)
			var found, left []string
			for _, l := range got {
				found = append(found, l.Target)
				if l.Deleted == row.opts.DryRun || l.Run != "gone" {
					t.Errorf("%+v", l)
				}
			}
			for i, s := range []*apitest.Server{hub, target} {
				if s.Get("/api/v1/namespaces/bench/pods/engine") != nil {
					left = append(left, []string{"local", "lab"}[i])
				}
			}
			if strings.Join(found, " ") != row.found || strings.Join(left, " ") != row.left {
				t.Errorf("found %v, left %v", found, left)
			}
			if (err != nil) != (row.err != "") || err != nil &&
				(!strings.Contains(err.Error(), row.err) || strings.Contains(err.Error(), "secret-token")) {
				t.Errorf("error %v, want %q", err, row.err)
			}
		})
	}
}

func forbid(resource string) func(apitest.Request) (int, string) {
	return func(q apitest.Request) (int, string) {
		if q.Resource == resource {
			return 403, resource + " is forbidden"
		}
		return 0, ""
	}
}
