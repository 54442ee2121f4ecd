package verdict

import (
	"slices"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
)

func TestExitCodeIsTheFirstOfTheOrder(t *testing.T) {
	tests := []struct {
		codes []int
		want  int
	}{
		{nil, 0}, {[]int{0, 0}, 0}, {[]int{6, 5, 4, 1, 3, 2}, 2}, {[]int{6, 5, 4, 1, 3}, 3}, {[]int{4, 1}, 1},
		{[]int{5, 4}, 4}, {[]int{6, 5}, 5}, {[]int{0, 6}, 6},
	}
	for _, tt := range tests {
		if got := ExitCode(tt.codes...); got != tt.want {
			t.Errorf("ExitCode(%v) = %d, want %d", tt.codes, got, tt.want)
		}
	}
}

// stageWith is a measured, pooled stage.
func stageWith(ok, failed int, invalid bool, gates ...report.Gate) report.Stage {
	s := report.Stage{Valid: !invalid, Gates: gates}
	s.Planned = runplan.Stage{Name: "s", Measure: true}
	s.Counts = report.Counts{Total: ok + failed,
		ByStatus: map[string]int{report.StatusOK: ok, report.StatusFailed: failed},
		ByClass:  map[string]int{report.ErrHTTP5xx: failed}}
	if invalid {
		s.InvalidReasons = []string{"client_limited"}
		s.Checks = []report.Check{{Name: "run_queue_share", Value: 0.5, Limit: 0.05, Reason: "client_limited"}}
	}
	return s
}

func gate(word string) report.Gate {
	v := 612.0
	return report.Gate{Metric: "ttft", Quantile: "p95", Unit: "ms", Limit: 500, Value: &v, N: 1200, Verdict: word}
}

func TestRun(t *testing.T) {
	defaultGate := gate(Fail)
	defaultGate.Metric, defaultGate.Quantile = "error_rate", ""
	defaultGate.Unit, defaultGate.Default = "share", true
	tests := []struct {
		name      string
		onBreach  string
		onInvalid string
		stage     report.Stage
		findings  []Finding
		word      string
		exit      int
		reason    string
	}{
		{name: "everything holds", stage: stageWith(100, 0, false, gate(Pass)), word: Pass},
		{name: "no successful request fails whatever the file says", onBreach: "report", stage: stageWith(0, 40, false),
			word: Fail, exit: 1, reason: "no request succeeded (40 failed; http_5xx 40)"},
		{name: "the rule for errors fails whatever the file says", onBreach: "report", stage: stageWith(90, 10, false,
			defaultGate), word: Fail, exit: 1, reason: "of the requests failed, more than"},
		{name: "a breach that is only reported has exit code 0", onBreach: "report", stage: stageWith(100, 0, false,
			gate(Fail)), word: Fail, exit: 0, reason: `stage "s": ttft p95 is 612 ms (n=1200), objective ≤ 500 ms`},
		{name: "reported is the default", stage: stageWith(100, 0, false, gate(Fail)), word: Fail, exit: 0},
		{name: "a breach that fails has exit code 5", onBreach: "fail", stage: stageWith(100, 0, false, gate(Fail)),
			word: Fail, exit: 5},
		{name: "a breach that stops has exit code 5", onBreach: "stop", stage: stageWith(100, 0, false, gate(Fail)),
			word: Fail, exit: 5},
		{name: "an undecided gate has exit code 6", onBreach: "fail",
			stage: stageWith(100, 0, false, gate(Inconclusive)), word: Inconclusive, exit: 6, reason: "cannot decide"},
		{name: "an undecided gate that is only reported has exit code 0",
			stage: stageWith(100, 0, false, gate(Inconclusive)), word: Inconclusive, exit: 0},
		{name: "an invalid stage is marked", stage: stageWith(100, 0, true), word: Invalid, exit: 0,
			reason: "client_limited (run_queue_share 0.5, limit 0.05)"},
		{name: "an invalid stage fails where the file says so", onInvalid: "fail", stage: stageWith(100, 0, true),
			word: Invalid, exit: 4},
		{name: "an invalid stage that was retried in vain fails", onInvalid: "retry", stage: stageWith(100, 0, true),
			word: Invalid, exit: 4},
		{name: "a breach of an invalid stage cannot be believed", onBreach: "fail", onInvalid: "fail",
			stage: stageWith(100, 0, true, gate(Fail)), word: Invalid, exit: 4},
		{name: "an unhealthy server comes before everything measured", stage: stageWith(0, 40, false),
			findings: []Finding{{3, 3, "smoke test: health: refused"}}, word: Fail, exit: 3, reason: "smoke test"},
		{name: "a stage that never ran is not judged",
			stage: func() report.Stage { s := stageWith(0, 0, false); s.Ended = "skipped"; return s }(), word: Pass},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := &runplan.RunPlan{
				SLO: &runplan.SLO{OnBreach: tt.onBreach}, Execution: runplan.Execution{OnInvalid: tt.onInvalid},
			}
			m := report.Measurement{Pooled: report.Pooled{Stages: []report.Stage{tt.stage}}}
			v := Run(p, []report.Measurement{m}, tt.findings)
			if v.Verdict != tt.word || v.ExitCode != tt.exit {
				t.Errorf("verdict %s with exit code %d, want %s with %d; reasons %q",
					v.Verdict, v.ExitCode, tt.word, tt.exit, v.Reasons)
			}
			if tt.reason != "" && !strings.Contains(strings.Join(v.Reasons, "\n"), tt.reason) {
				t.Errorf("reasons %q lack %q", v.Reasons, tt.reason)
			}
			if (len(v.Reasons) > 0) == (v.Verdict == Pass) {
				t.Errorf("verdict %s with reasons %q", v.Verdict, v.Reasons)
			}
		})
	}
}

func TestEachMeasurementIsJudgedByItsOwnObjectives(t *testing.T) {
	p := &runplan.RunPlan{
		Measurements: []runplan.Measurement{{SLO: &runplan.SLO{OnBreach: "report"}},
			{SLO: &runplan.SLO{OnBreach: "fail"}}},
	}
	breached := report.Pooled{Stages: []report.Stage{stageWith(100, 0, false, gate(Fail))}}
	for i, want := range []int{0, 5} {
		if v := Run(p, []report.Measurement{{Index: i, Pooled: breached}}, nil); v.ExitCode != want {
			t.Errorf("a breach of measurement %d has exit code %d, want %d", i, v.ExitCode, want)
		}
	}
}

func TestReasonsComeGravestFirst(t *testing.T) {
	p := &runplan.RunPlan{SLO: &runplan.SLO{OnBreach: "fail"}}
	m := report.Measurement{
		Pooled: report.Pooled{Stages: []report.Stage{stageWith(9, 0, false, gate(Fail)), stageWith(0, 9, false)}},
	}
	v := Run(p, []report.Measurement{m}, nil)
	if len(v.Reasons) != 2 || !strings.Contains(v.Reasons[0], "no request succeeded") || v.ExitCode != 1 {
		t.Errorf("exit code %d, reasons %q", v.ExitCode, v.Reasons)
	}
}

func TestNotesAreListedButDoNotInvalidate(t *testing.T) {
	s := stageWith(10, 0, false)
	s.Checks = []report.Check{{Name: "in_flight_rising", Value: 1, Note: true, Reason: "server_saturated"}}
	m := report.Measurement{
		Samples: []report.Sample{{Stages: []report.Stage{s}}}, Pooled: report.Pooled{Stages: []report.Stage{s}},
	}
	v := Run(&runplan.RunPlan{}, []report.Measurement{m}, nil)
	named := slices.ContainsFunc(v.Validity, func(v report.Validity) bool { return v.Reason == "server_saturated" })
	if v.Verdict != Pass || !named {
		t.Errorf("verdict %s, validity %v", v.Verdict, v.Validity)
	}
}

func TestAReasonSaysFromWhereItsValueCounts(t *testing.T) {
	for metric, want := range map[string]string{
		"ttft": `ttft p50 is 100.5 ms (n=200) from the intended send, objective ≤ 1 ms`,
		"tpot": "tpot p50 is 100.5 ms (n=200), objective ≤ 1 ms",
	} {
		t.Run(metric, func(t *testing.T) {
			e, values := evidence(200, 0), evidence(200, 0).Values("ttft_intended")
			e.Stage.Metrics["tpot"] = e.Stage.Metrics["ttft_intended"]
			e.Values = func(string) *report.Distribution { return values }
			e.Stage.Gates = Gates(latency(metric, "p50", time.Millisecond), e)
			m := report.Measurement{Pooled: report.Pooled{Stages: []report.Stage{e.Stage}}}
			if v := Run(&runplan.RunPlan{}, []report.Measurement{m}, nil); len(v.Reasons) != 1 ||
				!strings.HasSuffix(v.Reasons[0], want) {
				t.Errorf("reasons %q, want %q", v.Reasons, want)
			}
		})
	}
}
