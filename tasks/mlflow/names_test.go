package mlflow

import (
	"testing"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
)

func TestRequestsThatWereCutOffHaveNotFailed(t *testing.T) {
	s := report.StageResult{
		Counts: report.Counts{Total: 15, ByStatus: map[string]int{
			report.StatusOK: 4, report.StatusFailed: 1, report.StatusTimeout: 2, report.StatusEmpty: 1,
			report.StatusDropped: 2, report.StatusCut: 3, report.StatusCancelled: 2,
		}},
		Tokens:  report.TokenSums{In: 100, Out: 50},
		Metrics: map[string]report.Metric{"tokens_in": {Mean: 20}, "tokens_out": {Mean: 12}},
	}
	got := stageValues(&s)
	if got["requests/failed_requests"] != 6 {
		t.Errorf("%v failed requests, want 6", got["requests/failed_requests"])
	}
	if got["tokens/in_mean"] != 20 || got["tokens/out_mean"] != 12 {
		t.Errorf("mean lengths %v and %v: requests without an answer have none",
			got["tokens/in_mean"], got["tokens/out_mean"])
	}
}

func TestAStageThatNeverRanHasNoPoints(t *testing.T) {
	ran := report.StageResult{Planned: runplan.Stage{Measure: true, Rate: 4}, Ended: "duration"}
	skipped := report.StageResult{Planned: runplan.Stage{Measure: true, Rate: 8}, Ended: "skipped"}
	seen := map[int64]bool{}
	for _, p := range points(&runplan.RunPlan{}, []report.StageResult{ran, skipped}, &report.Verdict{Verdict: "fail"}) {
		if p.Key != "verdict" {
			seen[p.Step] = true
		}
	}
	if !seen[4] || seen[8] {
		t.Errorf("points at the loads %v, want 4 alone", seen)
	}
	ran.StartNS, ran.EndNS = 5e18, 6e18
	if begin, end := span([]report.StageResult{ran, skipped}); begin.UnixNano() != 5e18 || end.UnixNano() != 6e18 {
		t.Errorf("the load lasted from %s to %s", begin, end)
	}
}
