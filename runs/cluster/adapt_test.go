package cluster_test

import (
	"testing"

	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/runplan/contract"

	"github.com/google/go-cmp/cmp"
)

func TestWhatBootstrapFoundOutIsUsedWhereAPersonSaidNothing(t *testing.T) {
	hub := map[string]string{contract.HubPlatform: "openshift", contract.HubImages: "mirror.example/bflow",
		contract.HubLoadNodes: "pool=cpu", contract.HubLoadCPU: "250m"}
	said := compile.Options{Platform: "kubernetes", ImagePrefix: "own.example/bflow",
		NodeSelector: map[string]string{"own": "yes"}, LoadCPU: "2"}
	for _, row := range []struct {
		name         string
		hub          map[string]string
		given        compile.Options
		platformSaid bool
		want         compile.Options
	}{
		{name: "nothing was said", hub: hub, want: compile.Options{Platform: "openshift", ImagePrefix: "mirror.example/bflow",
			NodeSelector: map[string]string{"pool": "cpu"}, LoadCPU: "250m"}},
		{name: "everything was said", hub: hub, given: said, platformSaid: true, want: said},
		{name: "bootstrap has not been here", given: said, want: said},
	} {
		t.Run(row.name, func(t *testing.T) {
			srv, c := newCluster(t)
			if row.hub != nil {
				srv.Put(mapsAt+"/"+contract.ConfigMapHub, apitest.Object{"apiVersion": "v1", "kind": "ConfigMap",
					"metadata": apitest.Object{"name": contract.ConfigMapHub, "namespace": namespace}, "data": row.hub})
			}
			got := row.given
			if err := c.Adapt(t.Context(), &got, makePlan(t), row.platformSaid); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
