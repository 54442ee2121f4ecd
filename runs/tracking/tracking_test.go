package tracking

import (
	"testing"

	"bflow.dev/bflow/queue/matrix/state"
)

func TestWhatMLflowShowsOfAMatrix(t *testing.T) {
	o := OutcomeOf(state.Counts{Passed: 2, Failed: 1, Cancelled: 1, Deleted: 1, Skipped: 2}, 7, 5)
	for name, want := range map[string]float64{"points": 7, "passed": 2, "failed": 1, "invalid": 0,
		"inconclusive": 0, "cancelled": 4} {
		if got, ok := o.Metrics[name]; !ok || got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if o.ExitCode != 5 || o.Tags["bflow.verdict"] != "fail" {
		t.Errorf("exit code %d, verdict %q", o.ExitCode, o.Tags["bflow.verdict"])
	}
}
