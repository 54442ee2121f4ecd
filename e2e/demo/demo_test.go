package demo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/e2e/product"
	"bflow.dev/bflow/runplan/contract"
)

func TestMain(m *testing.M) { product.Main(m) }

// scale makes the shipped demo short: same engine, same matrix, same kinds of stages.
const scale = `load.stages=[{name: warm, measure: false, rate: 50, duration: 500ms}, {rate: [40, 80], arrival: ` +
	`poisson, duration: 1.5s}]`

func TestTheDemoTellsOneStory(t *testing.T) {
	t.Parallel()
	p := product.New(t)
	demo, err := filepath.Abs("../../examples/demo.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got := p.Run("run", "--local", "--plain", demo, "--set", scale, "--set", "execution.on_invalid=mark")
	if got.Code != contract.ExitPass {
		t.Fatalf("exit code %d:\n%s\n%s", got.Code, got.Out, got.Err)
	}
	runs := p.Every()
	if len(runs) != 2 {
		t.Fatalf("%d runs, want 2", len(runs))
	}
	// On a busy machine there may be no valid row.
	valid := strings.Contains(got.Out, " pass\n") || strings.Contains(got.Out, " fail\n")
	if valid != strings.Contains(got.Out, "\nfound: max_num_seqs=") {
		t.Errorf("it says what it has found, or does not, against its table:\n%s", got.Out)
	}
	table := parseTable(t, got.Out)
	for _, run := range runs {
		rows := run.Join()
		checkCounts(t, run, rows)
		checkTable(t, run, rows, table)
		if left := run.Processes(); len(left) > 0 {
			t.Errorf("%s: processes are left: %q", run.ID(), left)
		}
	}
}

// TestRunsOfTheDemo looks at real runs: BFLOW_E2E_RUNS names the folder in which `make demo` left them.
func TestRunsOfTheDemo(t *testing.T) {
	root := os.Getenv("BFLOW_E2E_RUNS")
	if root == "" {
		t.Skip("BFLOW_E2E_RUNS is not set: run make demo with BFLOW_RUNS_DIR, and name that folder here")
	}
	runs := product.Every(t, root)
	if len(runs) < 2 {
		t.Fatalf("%d runs in %q, want those of the demo", len(runs), root)
	}
	for _, run := range runs {
		checkCounts(t, run, run.Join())
		checkLowN(t, run)
	}
}

// checkLowN fails for a measured stage with too few requests for a p99.
func checkLowN(t *testing.T, run product.Run) {
	t.Helper()
	for _, m := range run.Report().Measurements {
		for _, s := range m.Pooled.Stages {
			for name, metric := range s.Metrics {
				if s.Planned.Measure && name != "concurrency" && metric.IsLowN("p99") {
					t.Errorf("%s: stage %q: p99 of %s is marked low_n: %d values", run.ID(), s.Planned.Name, name, metric.N)
				}
			}
		}
	}
}
