//go:build e2e

package cluster

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan/contract"
)

// routed is llm-d without a gateway: two model servers behind an endpoint picker and its proxy. The picker is that of
// the Gateway API Inference Extension, whose configuration has another version, and not the plugins that llm-d adds.
const routed = `
apiVersion: bflow.dev/v1alpha1
kind: DeploymentProfile
metadata: {name: routed}
spec:
  platform: llm-d
  mode: inference-scheduling
  gateway: standalone
  repo_ref: v0.9.0
  scheduler_image: %s
  proxy_image: %s
  runtime: {replicas: 2}
  engine: %s
  options:
    epp_config: |
      apiVersion: inference.networking.x-k8s.io/v1alpha1
      kind: EndpointPickerConfig
      plugins:
      - type: queue-scorer
      - type: kv-cache-utilization-scorer
      - type: prefix-cache-scorer
      schedulingProfiles:
      - name: default
        plugins:
        - {pluginRef: queue-scorer, weight: 2}
        - {pluginRef: kv-cache-utilization-scorer, weight: 2}
        - {pluginRef: prefix-cache-scorer, weight: 3}
---
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: routed}
spec:
  namespace: benchflow
  model: {name: demo/tiny}
  deployment_profile: routed
  target_clusters: [%s]
  stages: {collect: false}
  load:
    data: {input: 64, output: 8, prefixes: [{weight: 1, count: 12, tokens: 1024}]}
    stages: [{name: load, concurrency: 1, duration: %s}]
`

// simulated is the engine of bflow.
const simulated = "{kind: sim, sim: {ttft: 20ms, itl: 2ms, prefix_cache: true}}"

// routedBy writes that experiment, with images of the two programs, with an engine and for a target.
func routedBy(l *lab, engine, target, duration string) string {
	l.t.Helper()
	picker, proxy := os.Getenv("BFLOW_E2E_PICKER"), os.Getenv("BFLOW_E2E_PROXY")
	if picker == "" || proxy == "" {
		l.t.Skip("BFLOW_E2E_PICKER and BFLOW_E2E_PROXY name no images of an endpoint picker and of Envoy")
	}
	return l.write("routed.yaml", fmt.Sprintf(routed, picker, proxy, engine, target, duration))
}

// TestAnEndpointPickerChoosesThePodOfEachRequest on a cluster beside the hub: both pods serve, and what begins alike
// stays on one of them.
func TestAnEndpointPickerChoosesThePodOfEachRequest(t *testing.T) {
	l := newLab(t, withWorker)
	simulator := os.Getenv("BFLOW_E2E_LLMD_SIM")
	if simulator == "" {
		t.Skip("BFLOW_E2E_LLMD_SIM names no image of llm-d-inference-sim")
	}
	w := l.onWorker()
	servers := fmt.Sprintf("{kind: llm-d-inference-sim, image: %q, args: [--time-to-first-token=20ms, "+
		"--inter-token-latency=2ms]}", simulator)
	run := l.submit(routedBy(l, servers, workerTarget, "10s"), "--follow")[0]
	out := filepath.Join(l.dir, "there")
	l.must("fetch", run, "--out", out)
	_, rows, err := report.ReadRows(filepath.Join(out, contract.DirMeasurement, "0", contract.FileRequests))
	if err != nil {
		t.Fatal(err)
	}
	served, moved := map[string]int{}, 0
	stays := map[int]string{}
	for _, row := range rows {
		served[row.EndpointPod]++
		if row.PrefixIndex == nil || row.EndpointPod == "" {
			t.Fatalf("request %q of no prefix, or of no pod", row.ID)
		}
		if before := stays[*row.PrefixIndex]; before != "" && before != row.EndpointPod {
			moved++
		}
		stays[*row.PrefixIndex] = row.EndpointPod
	}
	t.Logf("%d requests of %d prefixes, by pod: %v", len(rows), len(stays), served)
	if len(served) != 2 || len(stays) != 12 {
		t.Errorf("pods %v served %d prefixes, want two pods and 12 prefixes", slices.Sorted(maps.Keys(served)), len(stays))
	}
	if moved > 0 {
		t.Errorf("%d of %d requests went to another pod than the one before with their prefix", moved, len(rows))
	}
	l.of(run).nothingLeft(beforeForce)
	w.of(run).nothingLeftThere(beforeForce)
}

// TestARunThatLosesItsRouterIsNotGreen, and nothing of it is left.
func TestARunThatLosesItsRouterIsNotGreen(t *testing.T) {
	l := newLab(t)
	run := l.submit(routedBy(l, simulated, contract.TargetLocal, "40s"))[0]
	during("load-gen-0")(l, run)
	for _, d := range l.of(run).objects(deployments) {
		if strings.HasPrefix(d.GetName(), "gaie-") {
			_, err := l.api.Resource(deployments).Namespace(namespace).Patch(t.Context(), d.GetName(), types.MergePatchType,
				[]byte(`{"spec": {"replicas": 0}}`), metav1.PatchOptions{})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	last := l.of(run).lastAttempt()
	if status, reason := condition(l.run(last)); status == "True" {
		t.Errorf("%s ended %s", last, reason)
	}
	l.of(run).nothingLeft(beforeForce)
}
