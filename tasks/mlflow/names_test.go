package mlflow

import (
	"testing"

	"bflow.dev/bflow/tasks/report"
)

func TestRequestsThatWereCutOffHaveNotFailed(t *testing.T) {
	s := report.StageResult{Counts: report.Counts{Total: 15, ByStatus: map[string]int{report.StatusOK: 4, report.StatusFailed: 1,
		report.StatusTimeout: 2, report.StatusEmpty: 1, report.StatusDropped: 2, report.StatusCut: 3, report.StatusCancelled: 2}},
		Tokens: report.TokenSums{In: 100, Out: 50}, Metrics: map[string]report.Metric{"tokens_in": {Mean: 20}, "tokens_out": {Mean: 12}}}
	got := stageValues(&s)
	if got["requests/failed_requests"] != 6 {
		t.Errorf("%v failed requests, want 6", got["requests/failed_requests"])
	}
	if got["tokens/in_mean"] != 20 || got["tokens/out_mean"] != 12 {
		t.Errorf("mean lengths %v and %v: requests without an answer have none", got["tokens/in_mean"], got["tokens/out_mean"])
	}
}
