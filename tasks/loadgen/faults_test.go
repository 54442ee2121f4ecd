package loadgen

import (
	"testing"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/sim"
)

// untilStalled is the timeout of a request whose answer stops after 26 ms: its half, in which tokens are to come, is
// long enough for a busy host.
const untilStalled = runplan.Duration(4 * time.Second)

func TestFaultsBecomeStatusAndClass(t *testing.T) {
	tests := []struct {
		name   string
		fault  string
		status string
		class  string
	}{
		{name: "a 400 is a failure of class http_4xx", fault: runplan.FaultHTTP400, status: report.StatusFailed,
			class: report.ErrHTTP4xx},
		{name: "a 429 has a class of its own", fault: runplan.FaultHTTP429, status: report.StatusFailed,
			class: report.ErrHTTP429},
		{name: "a 500 is a failure of class http_5xx", fault: runplan.FaultHTTP500, status: report.StatusFailed,
			class: report.ErrHTTP5xx},
		{name: "a 503 is a failure of class http_5xx", fault: runplan.FaultHTTP503, status: report.StatusFailed,
			class: report.ErrHTTP5xx},
		{name: "a 200 without a token is empty", fault: runplan.FaultEmpty, status: report.StatusEmpty},
		{name: "a reset in the middle is a reset", fault: runplan.FaultReset, status: report.StatusFailed,
			class: report.ErrReset},
		{name: "a clean end in the middle is truncated", fault: runplan.FaultTruncated, status: report.StatusFailed,
			class: report.ErrTruncated},
		{name: "an error object inside a 200 is no success", fault: runplan.FaultErrorEvent, status: report.StatusFailed,
			class: report.ErrErrorInStream},
		{name: "silence until the timeout is a stall", fault: runplan.FaultStall, status: report.StatusTimeout,
			class: report.ErrStall},
		{name: "all tokens without the terminator are truncated", fault: runplan.FaultNoDone, status: report.StatusFailed,
			class: report.ErrTruncated},
		{name: "a kept connection that is reset is retried once on a new one", fault: runplan.FaultResetReused,
			status: report.StatusOK},
		{name: "fewer tokens than asked are ok", fault: runplan.FaultShortOutput, status: report.StatusOK},
		{name: "missing usage is ok", fault: runplan.FaultUsageMissing, status: report.StatusOK},
		{name: "one byte per segment is ok", fault: runplan.FaultSplit, status: report.StatusOK},
		{name: "all events in one segment are ok", fault: runplan.FaultCoalesce, status: report.StatusOK},
		{name: "several tokens per event are ok", fault: runplan.FaultTokensPerEvent, status: report.StatusOK},
		{name: "CRLF line ends are ok", fault: runplan.FaultCRLF, status: report.StatusOK},
		{name: "comments are ok", fault: runplan.FaultComments, status: report.StatusOK},
		{name: "an event on two data lines is ok", fault: runplan.FaultMultiLine, status: report.StatusOK},
		{name: "a segment that ends inside a character is ok", fault: runplan.FaultCutUTF8, status: report.StatusOK},
		{name: "a role before the first token is ok", fault: runplan.FaultRoleFirst, status: report.StatusOK},
		{name: "reasoning before content is ok", fault: runplan.FaultReasoning, status: report.StatusOK},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := makeBench(t, sim.Config{}, closedLoop(2, 6))
			b.engine.Inject(runplan.Fault{Kind: tt.fault}, b.engine.Now())
			if tt.class == report.ErrStall {
				b.plan.Measurements[0].API.Timeout = untilStalled
				b.plan.Measurements[0].Stages[0].Concurrency = 6
			}
			r := b.measure(t)
			if len(r.rows) != 6 {
				t.Errorf("%d rows, want 6", len(r.rows))
			}
			for _, row := range r.rows {
				if row.Status != tt.status || row.ErrorClass != tt.class {
					t.Fatalf("row %q is %s %q (%s), want %s %q", row.ID, row.Status, row.ErrorClass, row.Error, tt.status, tt.class)
				}
				if tt.status == report.StatusOK && (tokensOut(row) != 8 && tt.fault != runplan.FaultShortOutput) {
					t.Fatalf("row %q has %d tokens, want 8", row.ID, tokensOut(row))
				}
			}
			if n := r.stages[0].Client.StaleRetries; (n > 0) != (tt.fault == runplan.FaultResetReused) {
				t.Errorf("%d requests were put again on a new connection", n)
			}
			checkJoin(t, b, r)
		})
	}
}

func TestFaultsAreVisibleInTheNumbers(t *testing.T) {
	t.Run("short answers are a token mismatch", func(t *testing.T) {
		b := makeBench(t, sim.Config{}, closedLoop(2, 6))
		b.engine.Inject(runplan.Fault{Kind: runplan.FaultShortOutput}, b.engine.Now())
		if c := findCheck(b.measure(t).stages[0], "inexact_length_share"); c == nil || c.OK || c.Reason != "token_mismatch" {
			t.Errorf("check %+v", c)
		}
	})
	t.Run("without usage tokens are counted by events", func(t *testing.T) {
		b := makeBench(t, sim.Config{}, closedLoop(2, 6))
		b.engine.Inject(runplan.Fault{Kind: runplan.FaultUsageMissing}, b.engine.Now())
		if r := b.measure(t); r.load.TokenCountSource != "events" {
			t.Errorf("token count source %q", r.load.TokenCountSource)
		}
	})
	t.Run("reasoning moves the first content and not the first token", func(t *testing.T) {
		b := makeBench(t, sim.Config{Sim: runplan.Sim{TTFT: seconds(0.02), ITL: seconds(0.2)}}, closedLoop(3, 6))
		b.engine.Inject(runplan.Fault{Kind: runplan.FaultReasoning}, b.engine.Now())
		r := b.measure(t)
		content := map[string]int64{} // when the engine sent the first, behind four tokens of reasoning
		for _, rec := range b.truthFor(t, r) {
			content[rec.RequestID] = rec.ArrivalUnix + rec.Events[4] - r.header.AnchorUnixNS
		}
		apart := 0
		for _, row := range r.rows {
			if *row.TContent < content[row.ID]-clockSlack {
				t.Errorf("%q: first content is stamped %d ns before it was sent", row.ID, content[row.ID]-*row.TContent)
			}
			if *row.TFirst < content[row.ID] {
				apart++ // a busy host may read all of an answer at once
			}
		}
		if apart == 0 {
			t.Error("no request has its first token stamped before its first content was sent")
		}
	})
	t.Run("a role-only event is no token", func(t *testing.T) {
		b := makeBench(t, sim.Config{Sim: runplan.Sim{TTFT: seconds(1), ITL: seconds(0.002)}}, closedLoop(3, 6))
		b.engine.Inject(runplan.Fault{Kind: runplan.FaultRoleFirst}, b.engine.Now())
		r := b.measure(t)
		token := firstTokens(b.truthFor(t, r))
		early := 0
		for _, row := range r.rows {
			if r.header.AnchorUnixNS+*row.TFirstByte < token[row.ID] {
				early++ // a busy host may read all of an answer at once
			}
		}
		if m := r.stages[0].Metrics; m["ttft"].Min < 999.5 || early == 0 {
			t.Errorf("ttft %.1f ms, want 1000; the first byte of %d requests came before the first token was sent",
				m["ttft"].Min, early)
		}
	})
	t.Run("every request failing is an error rate of one", func(t *testing.T) {
		b := makeBench(t, sim.Config{}, closedLoop(2, 6))
		b.engine.Inject(runplan.Fault{Kind: runplan.FaultHTTP500}, b.engine.Now())
		s := b.measure(t).stages[0]
		if s.ErrorRate == nil || *s.ErrorRate != 1 || s.Counts.ByClass[report.ErrHTTP5xx] != 6 {
			t.Errorf("error rate %v, counts %+v", s.ErrorRate, s.Counts)
		}
	})
}

func findCheck(s report.StageResult, name string) *report.Check {
	for i := range s.Checks {
		if s.Checks[i].Name == name {
			return &s.Checks[i]
		}
	}
	return nil
}

func tokensOut(r report.Row) int {
	if r.TokensOut == nil {
		return 0
	}
	return *r.TokensOut
}
