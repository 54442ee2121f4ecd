package loadgen

import (
	"testing"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/tasks/loadgen/search"
)

func TestWhatAStageSaysAboutALevelOfASearch(t *testing.T) {
	met := map[string]int{"ttft": 90}
	for _, row := range []struct {
		name  string
		stage report.StageResult
		want  search.Outcome
	}{
		{name: "nothing was judged", want: search.Outcome{}},
		{name: "nine of ten are good", stage: report.StageResult{Goodput: &report.GoodputResult{Good: 90, Of: 100, Met: met}},
			want: search.Outcome{Good: 90, Of: 100}},
		{name: "requests that were dropped are not good", want: search.Outcome{Good: 90, Of: 190},
			stage: report.StageResult{Goodput: &report.GoodputResult{Good: 90, Of: 90, Met: met},
				Counts: report.Counts{ByStatus: map[string]int{report.StatusOK: 90, report.StatusDropped: 100}}}},
		{name: "no answer could be held to its objective",
			want: search.Outcome{Good: 90, Of: 90, Invalid: true, Reason: "no answer has a tpot or ttft"},
			stage: report.StageResult{Goodput: &report.GoodputResult{Good: 90, Of: 90, Met: map[string]int{"ttft": 0, "tpot": 0},
				Undetermined: map[string]int{"ttft": 90, "tpot": 90}}}},
		{name: "some answers could not be", want: search.Outcome{Good: 100, Of: 100},
			stage: report.StageResult{Goodput: &report.GoodputResult{Good: 100, Of: 100, Met: met,
				Undetermined: map[string]int{"ttft": 10}}}},
		{name: "a check failed", want: search.Outcome{Good: 90, Of: 100, Invalid: true, Reason: reasonClient},
			stage: report.StageResult{Goodput: &report.GoodputResult{Good: 90, Of: 100, Met: met},
				Checks: []report.Check{{Reason: reasonClient}}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := outcome(&row.stage); got != row.want {
				t.Errorf("got %+v, want %+v", got, row.want)
			}
		})
	}
}
