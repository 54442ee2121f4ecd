package assemble

import (
	"path/filepath"
	"testing"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/loadgen/search"
	"bflow.dev/bflow/verdict"
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
		{name: "a stage before the search is no level", plan: rate,
			stage: report.StageResult{Stage: 0, Rate: 80}, answer: &answer},
		{name: "the answer", plan: rate, stage: report.StageResult{Stage: 3, Rate: 40}, answer: &answer},
		{name: "a level above it", plan: rate, stage: report.StageResult{Stage: 2, Rate: 80}, answer: &answer, want: true},
		{name: "no level is the answer where there is none", plan: rate,
			stage: report.StageResult{Stage: 2, Rate: 40}, want: true},
		{name: "slots are compared by their number", plan: slots,
			stage: report.StageResult{Planned: runplan.Stage{Concurrency: 40}}, answer: &answer},
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
	for _, row := range []struct {
		name, ended     string
		onInvalid, slo  string
		code, wantsExit int
	}{
		{name: "no level could be believed", ended: search.EndedInvalid, code: contract.ExitInvalid},
		{name: "no level could be believed, and the experiment fails then", ended: search.EndedInvalid,
			onInvalid: runplan.InvalidFail,
			code:      contract.ExitInvalid, wantsExit: contract.ExitInvalid},
		{name: "no level could be believed, after it was measured again", ended: search.EndedInvalid,
			onInvalid: runplan.InvalidRetry,
			code:      contract.ExitInvalid, wantsExit: contract.ExitInvalid},
		{name: "the lowest level fails", ended: search.EndedLowFails, code: contract.ExitBreach},
		{name: "the lowest level fails, and a breach fails the run", ended: search.EndedLowFails, slo: "fail",
			code: contract.ExitBreach, wantsExit: contract.ExitBreach},
		{name: "the lowest level could not be told", ended: search.EndedLowUnresolved, code: contract.ExitInconclusive},
		{name: "the lowest level could not be told, and a breach stops the run",
			ended: search.EndedLowUnresolved, slo: "stop",
			code: contract.ExitInconclusive, wantsExit: contract.ExitInconclusive},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := durable.WriteJSON(filepath.Join(dir, report.FileSearch),
				search.Result{Ended: row.ended, Conclusion: "nothing holds"}); err != nil {
				t.Fatal(err)
			}
			plan := &runplan.RunPlan{
				Measurements: []runplan.Measurement{{Search: &runplan.Search{}}}, SLO: &runplan.SLO{OnBreach: row.slo},
			}
			plan.Execution.OnInvalid = row.onInvalid
			m := &measured{plan: plan, dir: dir}
			m.readSearch()
			v := verdict.Run(plan, nil, m.findings)
			if len(m.findings) != 1 || m.findings[0].Code != row.code || v.ExitCode != row.wantsExit {
				t.Errorf("findings %+v give exit code %d, want one of code %d that gives %d",
					m.findings, v.ExitCode, row.code, row.wantsExit)
			}
		})
	}
}
