package record

import (
	"strings"
	"testing"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
)

func TestPhases(t *testing.T) {
	const second = int64(1e9)
	entries := []entry{{intended: 0}, {intended: 0}, {intended: second}, {intended: 2 * second}, {intended: 3 * second}}
	first, last := runplan.Trim{Duration: runplan.Duration(second)}, runplan.Trim{Duration: runplan.Duration(second)}
	tests := []struct {
		name string
		plan runplan.Stage
		want string // one letter per request: the first of its phase
	}{
		{name: "without trims all are measured", want: "mmmmm"},
		{name: "times on both sides", plan: runplan.Stage{SkipFirst: first, SkipLast: last}, want: "ssmms"},
		{name: "of requests sent at one moment a count takes some",
			plan: runplan.Stage{SkipFirst: runplan.Trim{Requests: 1}}, want: "smmmm"},
		{name: "a count at the start and a time at the end",
			plan: runplan.Stage{SkipFirst: runplan.Trim{Requests: 1}, SkipLast: last}, want: "smmms"},
		{name: "a time at the start and a count at the end",
			plan: runplan.Stage{SkipFirst: first, SkipLast: runplan.Trim{Requests: 2}}, want: "ssmss"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.plan.Measure, tt.plan.Shape = true, runplan.ShapeOpen
			in, got := &Stage{Plan: tt.plan, End: 4 * second}, ""
			w := windowOf(tt.plan, 0, 4*second, entries)
			for i, e := range entries {
				got += in.phase(w, i, e.intended)[:1]
			}
			if got != tt.want {
				t.Errorf("phases %s, want %s", got, tt.want)
			}
		})
	}
	if unmeasured := (&Stage{}).phase(span{}, 0, 0); !strings.HasPrefix(unmeasured, report.PhaseUnmeasured) {
		t.Errorf("a stage that is not measured has requests of the phase %q", unmeasured)
	}
}
