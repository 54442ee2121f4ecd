package compile

import (
	"encoding/json"
	"testing"

	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/runplan"

	"github.com/google/go-cmp/cmp"
)

func TestPodsOfARun(t *testing.T) {
	vllm := func(replicas, tensorParallel int) *runplan.RunPlan {
		p := &runplan.RunPlan{Deployment: runplan.Deployment{Engine: runplan.Engine{Kind: "vllm"}, Replicas: replicas,
			TensorParallel: tensorParallel}}
		p.Execution.Phases.Deploy = true
		return p
	}
	sim := vllm(2, 1)
	sim.Deployment.Engine.Kind = "sim"
	simWithDevices := vllm(2, 1)
	simWithDevices.Deployment.Engine.Kind = "sim"
	simWithDevices.Deployment.Runtime = json.RawMessage(`{"resources":{"limits":{"nvidia.com/gpu":"4"}}}`)
	existing := vllm(1, 4)
	existing.Deployment.Endpoint = &runplan.Endpoint{}
	kept := vllm(1, 4)
	kept.Execution.Phases.Deploy = false
	for _, row := range []struct {
		name string
		plan *runplan.RunPlan
		want string
	}{
		{"two replicas of four ranks are two pods", vllm(2, 4), `[{"count":2,"requests":{"nvidia.com/gpu":"4"}}]`},
		{"the simulated engine takes none", sim, ""},
		{"unless the file gives it some", simWithDevices, `[{"count":2,"requests":{"nvidia.com/gpu":"4"}}]`},
		{"an existing server has its own", existing, ""},
		{"a run that deploys nothing takes none", kept, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := podsOf(row.plan)
			if got != row.want {
				t.Fatalf("got %s, want %s", got, row.want)
			}
			if got == "" {
				return
			}
			shapes, err := devices.ParsePods(got)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]devices.Shape{{Count: 2, Requests: devices.Amounts{"nvidia.com/gpu": 4}}},
				shapes); diff != "" {
				t.Errorf("read back (-want +got):\n%s", diff)
			}
		})
	}
}
