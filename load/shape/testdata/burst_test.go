package shape_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/generator/plan"
	"bflow.dev/bflow/generator/profiles"
	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/assemble"
	"bflow.dev/bflow/report/page"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/sim"
	"bflow.dev/bflow/tasks/loadgen"
	"bflow.dev/bflow/tasks/step"
)

const bursts = `
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: bursts}
spec:
  model: {name: sim}
  deployment_profile: sim
  load:
    data: {input: 16, output: 4}
    stages:
    - {burst: {size: 4, every: 100ms}, requests: 12}
    - {burst: {size: 8, every: 100ms}, duration: 200ms}
`

// TestABurstGoesFromTheFileToTheReport takes the shape through everything that has shapes.
func TestABurstGoesFromTheFileToTheReport(t *testing.T) {
	p := planOf(t, bursts)
	stages := p.Measurements[0].Stages
	if s := stages[0]; s.Shape != "burst" || s.Rate != 40 || s.Numbers["size"] != 4 || s.Name != "burst" {
		t.Errorf("the plan has %+v", s)
	}
	if got := p.Timeouts.Measurement[0].D(); got != 500*time.Millisecond { // 12 requests at 40/s, and 200 ms
		t.Errorf("the load is expected to take %v", got)
	}

	runDir := measure(t, p)
	_, rows, err := report.ReadRows(filepath.Join(report.MeasurementDir(runDir, 0), contract.FileRequests))
	if err != nil {
		t.Fatal(err)
	}
	sent := map[int]map[time.Duration]int{0: {}, 1: {}} // by stage and time from its first send
	first := map[int]int64{}
	for _, row := range rows {
		if _, ok := first[row.Stage]; !ok {
			first[row.Stage] = row.TIntended
		}
		sent[row.Stage][time.Duration(row.TIntended-first[row.Stage])]++
	}
	for stage, size := range []int{4, 8} {
		for burst := range 3 - stage {
			at := time.Duration(burst) * 100 * time.Millisecond
			if got := sent[stage][at]; got != size {
				t.Errorf("stage %d sends %d after %v, want %d: %v", stage, got, at, size, sent[stage])
			}
		}
	}
	if text := pageOf(t, runDir); !strings.Contains(text, "requests/s in bursts") || !strings.Contains(text, "80 req/s in bursts") {
		t.Error("the report has no axis of bursts")
	}
}

func TestABurstWithoutASizeIsRefusedWhereItStands(t *testing.T) {
	_, found := spec.LoadBytes(spec.Options{Shipped: profiles.FS}, "t.yaml", []byte(strings.Replace(bursts, "size: 4, ", "", 1)))
	want := "t.yaml:11:15: spec.load.stages[0].burst.size: required field is missing"
	if got := found.Error(); !strings.Contains(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func planOf(t *testing.T, text string) *runplan.RunPlan {
	t.Helper()
	set, found := spec.LoadBytes(spec.Options{Shipped: profiles.FS}, "bursts.yaml", []byte(text))
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	plans, found := plan.Plan(set.Experiments[0], set.Catalogue, plan.Options{})
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return plans[0]
}

// measure lets load-gen carry out the plan against a simulated engine and returns the run directory.
func measure(t *testing.T, p *runplan.RunPlan) string {
	t.Helper()
	engine, err := sim.Listen(sim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	runDir := t.TempDir()
	if err := durable.WriteJSON(filepath.Join(runDir, runplan.FileJSON), p); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	streams := step.Streams{Out: &stderr, Err: &stderr, Env: func(string) string { return "" }}
	args := []string{"--plan-dir", runDir, "--run-dir", runDir, "--run-id", "r", "--endpoint", engine.URL()}
	if code := step.Run(eventually.Context(t), contract.LoadGen, loadgen.Run, streams, args); code != 0 {
		t.Fatalf("load-gen exits %d:\n%s", code, stderr.String())
	}
	return runDir
}

func pageOf(t *testing.T, runDir string) string {
	t.Helper()
	r, err := assemble.Report(runDir)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := page.Write(&text, r); err != nil {
		t.Fatal(err)
	}
	return text.String()
}
