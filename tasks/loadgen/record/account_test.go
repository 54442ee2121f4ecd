package record

import (
	"testing"

	"bflow.dev/bflow/report"
)

// accountOf is the account of outcomes that are all measured, over a window of a second.
func accountOf(outcomes ...*Outcome) *account {
	in := &Stage{Start: 0, End: 1e9, WindowEnd: 1e9, DrainEnd: 1e9}
	in.Plan.Measure = true
	a := newAccount(in, span{end: 1e9, to: len(outcomes)}, new(store))
	for _, o := range outcomes {
		row := Row(o, Names{}, 0, 0, report.PhaseMeasured)
		a.add(o, &row)
	}
	return a
}

// numbers are the summary of the account, whose values are thrown away.
func (a *account) numbers(t *testing.T) *Summary {
	t.Helper()
	sum, err := a.summary(func(string, *report.Distribution) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// answered is an outcome with input and output tokens that ended at half a second.
func answered(in, out int64) *Outcome {
	o := makeOutcome(0)
	o.Send, o.FirstByte, o.End = 0, 1e6, 5e8
	o.In, o.Out, o.TokenSource = in, out, "usage"
	return o
}

func TestAnAnswerThatBrokeOffIsNoSecondTokenSource(t *testing.T) {
	broken := answered(10, 2)
	broken.Status, broken.Class, broken.TokenSource = report.StatusFailed, report.ErrErrorInStream, "events"
	sum := accountOf(answered(10, 4), broken).numbers(t)
	if len(sum.SourceCounts) != 1 || sum.SourceCounts["usage"] != 1 || len(sum.Result.Tokens.Sources) != 1 {
		t.Errorf("sources %v and %v, want usage alone", sum.SourceCounts, sum.Result.Tokens.Sources)
	}
	silent := answered(10, 2)
	silent.TokenSource = "events"
	if sum := accountOf(answered(10, 4), silent).numbers(t); len(sum.SourceCounts) != 2 {
		t.Errorf("sources %v of two whole answers, want both", sum.SourceCounts)
	}
}

func TestTheInputOfAnAnswerThatDidNotStreamCountsAtItsEnd(t *testing.T) {
	streamed, late, failed := answered(30, 2), answered(500, 2), answered(700, Absent)
	streamed.Token(4e8, 1)
	streamed.Token(45e7, 1)
	late.End = 2e9
	failed.Status = report.StatusFailed
	rates := accountOf(answered(10, 4), streamed, late, failed).rates()
	if rates["input_token_rate"] != 40 || rates["output_token_rate"] != 6 || rates["total_token_rate"] != 46 {
		t.Errorf("rates %v, want 40 input and 6 output tokens per second", rates)
	}
}

func TestCacheHitRateIsOverTheRequestsThatReportIt(t *testing.T) {
	hit, miss := answered(40, 1), answered(60, 1)
	hit.Cached, miss.Cached = 30, 0
	tests := []struct {
		name     string
		outcomes []*Outcome
		want     float64
		exists   bool
	}{
		{name: "no request says", outcomes: []*Outcome{answered(100, 1)}},
		{name: "those that say nothing do not count", outcomes: []*Outcome{hit, miss, answered(100, 1)},
			want: 0.3, exists: true},
		{name: "nothing cached is a share of zero", outcomes: []*Outcome{miss}, exists: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := accountOf(tt.outcomes...).rates()["cache_hit_rate"]; got != tt.want || ok != tt.exists {
				t.Errorf("cache hit rate %v, %v; want %v, %v", got, ok, tt.want, tt.exists)
			}
		})
	}
}
