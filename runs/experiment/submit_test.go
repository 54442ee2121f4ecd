package experiment

import (
	"testing"
	"time"

	"bflow.dev/bflow/runplan"
)

func TestRunsOneAfterAnotherTakeTheTimeOfAll(t *testing.T) {
	for _, row := range []struct {
		name  string
		most  int
		hours []int
		want  int
	}{
		{"as many as there are, at once", 0, []int{1, 3, 2}, 3},
		{"one at a time", 1, []int{1, 3, 2}, 6},
		{"two at a time, the third when the first has ended", 2, []int{1, 3, 2}, 3},
		{"two at a time, in rounds", 2, []int{2, 2, 2, 2, 2}, 6},
		{"more at a time than there are", 9, []int{1, 2}, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			var plans []*runplan.RunPlan
			for _, h := range row.hours {
				plans = append(plans, &runplan.RunPlan{Execution: runplan.Execution{MaxParallel: row.most},
					Timeouts: runplan.Timeouts{Pipeline: runplan.Duration(time.Duration(h) * time.Hour)}})
			}
			if got := longestOf(plans); got != time.Duration(row.want)*time.Hour {
				t.Errorf("got %s, want %dh", got, row.want)
			}
		})
	}
}
