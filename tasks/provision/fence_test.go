package provision

import (
	"strings"
	"testing"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
)

func TestARunThatIsFencedMakesNothing(t *testing.T) {
	b, server := newRemoteBench(t, func(*runplan.RunPlan) {})
	server.Serve("coordination.k8s.io/v1", "Lease", true)
	server.Put("/api/v1/namespaces/"+contract.NamespaceSystem, apitest.Object{})
	server.Put("/apis/coordination.k8s.io/v1/namespaces/"+contract.NamespaceSystem+"/leases/"+contract.LeasePlatform,
		apitest.Object{
			"metadata": apitest.Object{"annotations": apitest.Object{contract.AnnotationFence: "8",
				contract.AnnotationSetupKey: "llm-d/istio/v2"}},
			"spec": apitest.Object{"holderIdentity": "other"},
		})
	b.env[contract.EnvFence], b.env[contract.EnvHub] = "7", "me"
	code, out := b.run("up")
	if code != contract.ExitFail || !strings.Contains(out, "its fence moved from 7 to 8") {
		t.Errorf("exit %d: %s", code, out)
	}
	for _, q := range server.Requests() {
		if q.Verb == "create" {
			t.Errorf("it makes %s", q.Path)
		}
	}
}
