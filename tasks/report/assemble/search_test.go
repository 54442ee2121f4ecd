package assemble

import (
	"testing"

	"bflow.dev/bflow/tasks/contract"
	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/runplan"
)

func TestOnlyTheAnswerOfASearchIsJudged(t *testing.T) {
	answer := 40.0
	rate := &runplan.Measurement{Search: &runplan.Search{}, Stages: make([]runplan.Stage, 1)}
	slots := &runplan.Measurement{Search: &runplan.Search{Over: runplan.SearchConcurrency}}
	tests := []struct {
		name   string
		plan   *runplan.Measurement
		stage  report.StageResult
		answer *float64
		want   bool
	}{
		{name: "a stage before the search is no level", plan: rate, stage: report.StageResult{Stage: 0, Rate: 80}, answer: &answer},
		{name: "the answer", plan: rate, stage: report.StageResult{Stage: 3, Rate: 40}, answer: &answer},
		{name: "a level above it", plan: rate, stage: report.StageResult{Stage: 2, Rate: 80}, answer: &answer, want: true},
		{name: "no level is the answer where there is none", plan: rate, stage: report.StageResult{Stage: 2, Rate: 40}, want: true},
		{name: "slots are compared by their number", plan: slots, stage: report.StageResult{Planned: runplan.Stage{Concurrency: 40}}, answer: &answer},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := report.Stage{StageResult: tt.stage}
			if explore(&s, tt.plan, tt.answer); s.Explored != tt.want {
				t.Errorf("explored %v, want %v", s.Explored, tt.want)
			}
		})
	}
}

func TestASearchWithoutAnAnswerIsAFinding(t *testing.T) {
	for ended, want := range map[string]int{"low_fails": contract.ExitBreach, "invalid": contract.ExitInvalid, "low_unresolved": contract.ExitInconclusive} {
		if got := verdictOf(ended); got != want {
			t.Errorf("%s: code %d, want %d", ended, got, want)
		}
	}
}
