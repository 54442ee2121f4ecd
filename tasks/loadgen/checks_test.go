package loadgen

import (
	"testing"
	"time"

	"bflow.dev/bflow/tasks/loadgen/record"
	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/runplan"
)

// lagged is a stage at a rate whose requests were late by the given ms.
func lagged(rate float64, late []float64) (*record.Stage, *report.StageResult) {
	m, _ := report.Summarize("ms", late)
	return &record.Stage{Plan: runplan.Stage{Shape: runplan.ShapeOpen}, Rate: rate},
		&report.StageResult{StartNS: 0, DrainEndNS: int64(10 * time.Second), Metrics: map[string]report.Metric{"sched_lag": m}}
}

// few returns n values of which so many are late, the others on time.
func few(n, late int, by float64) []float64 {
	out := make([]float64, n)
	for i := range late {
		out[i] = by
	}
	return out
}

func TestLatenessIsJudgedByWhatIsKnown(t *testing.T) {
	tests := []struct {
		name string
		rate float64
		late []float64
		want string // reason
	}{
		{name: "one of twenty that is hardly late says nothing", rate: 1000, late: few(20, 1, 1.2)},
		{name: "one of twenty that is very late does", rate: 1000, late: few(20, 1, 30), want: reasonSchedule},
		{name: "most of twenty hardly late do", rate: 1000, late: few(20, 12, 1.2), want: reasonSchedule},
		{name: "one of a hundred of 250 hardly late", rate: 1000, late: few(250, 3, 1.2)},
		{name: "one of ten of 250 hardly late", rate: 1000, late: few(250, 25, 1.2), want: reasonSchedule},
		{name: "one of fifty of many", rate: 1000, late: few(2000, 40, 1.2), want: reasonSchedule},
		{name: "one of two hundred of many", rate: 1000, late: few(2000, 10, 50)},
		{name: "a hundredth of the gap at a low rate", rate: 2, late: few(2000, 2000, 4.9)},
		{name: "and more than it", rate: 2, late: few(2000, 2000, 5.1), want: reasonSchedule},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in, r := lagged(tt.rate, tt.late)
			r.Checks = checks(in, r, self{limit: 1, throttled: -1}, false)
			if got := invalid(r); got != tt.want {
				t.Errorf("reason %q, want %q: %+v", got, tt.want, r.Checks)
			}
		})
	}
}

func TestALoopThatWaitsForItsProcessorIsSeenOnALargeMachine(t *testing.T) {
	in, r := lagged(1000, few(2000, 0, 0))
	used := self{limit: 64, throttled: -1, runQueue: time.Second, longest: time.Second}
	r.Checks = checks(in, r, used, false)
	if got := invalid(r); got != reasonClient {
		t.Errorf("reason %q: its thread waited a tenth of the time", got)
	}
}
