package record

import (
	"testing"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
)

func TestGoodputOfEachObjective(t *testing.T) {
	g := newGoodness(runplan.Goodput{
		TTFT: runplan.Duration(20 * time.Millisecond), TPOT: runplan.Duration(2 * time.Millisecond),
	})
	// answer has tokens at toFirst and every 2 ms after that.
	answer := func(toFirst, tokens int64) *Outcome {
		o := answered(1, tokens)
		for i := range tokens {
			o.Token((toFirst+2*i)*1e6, 1)
		}
		return o
	}
	failed, cut := answered(1, Absent), answered(1, Absent)
	failed.Status, cut.Status = report.StatusFailed, report.StatusCut
	var row report.Row
	for _, o := range []*Outcome{answer(20, 5), answer(21, 5), answer(10, 1), failed, cut} {
		g.judge(o, &row)
	}
	res := g.result(2)
	if res.Good != 2 || res.Of != 4 || res.Attainment != 0.5 || res.RequestsPerS != 1 || res.TokensPerS != 3 {
		t.Errorf("goodput %+v, want the first and the third of four", res)
	}
	got := res.Attainments()
	if len(got) != 2 || got["ttft"] != 0.5 || got["tpot"] != 2.0/3 {
		t.Errorf("shares %v: two of four met ttft; tpot, which one token does not have, two of three", got)
	}
}
