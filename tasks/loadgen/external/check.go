package external

import (
	"fmt"
	"math"

	"bflow.dev/bflow/load/shape"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
)

// check makes the validity checks that the stamps of a tool allow, by the limits of native measurements.
func (s *stage) check() {
	r := &s.result
	paced := shape.Of(r.Planned.Shape).Paced
	if lag, ok := r.Metrics["sched_lag"]; ok && paced {
		limit := 1.0
		if r.Planned.Rate > 0 {
			limit = max(limit, 0.01*1000/r.Planned.Rate)
		}
		s.verify("sched_lag_p99_ms", lag.Quantiles["p99"], limit, "schedule_missed", "requests were sent later than planned")
	}
	if rate, sent := r.Planned.Rate, s.sendRate(); paced && rate > 0 && sent > 0 && r.Planned.MaxInflight == 0 {
		allowed := max(0.005, 1.5/math.Max(1, float64(len(s.rows))))
		s.verify("achieved_rate_gap", math.Abs(sent/rate-1), allowed, "schedule_missed",
			fmt.Sprintf("%.3f requests per second were sent instead of %.3f", sent, rate))
	}
	if r.Tokens.OutAsked > 0 && r.Counts.ByStatus[report.StatusOK] > 0 {
		share := 1 - float64(r.Tokens.ExactLength)/float64(r.Counts.ByStatus[report.StatusOK])
		s.verify("inexact_length_share", share, 0.01, "token_mismatch", "answers have not the length that was asked")
	}
}

// compareLengths counts the answers that have the length that every request asked for, where the tool does not: it does
// not say what it asked, but its block does.
func (s *stage) compareLengths(asked *runplan.Length) {
	t := &s.result.Tokens
	if asked == nil || asked.Shape != "fixed" || t.OutAsked > 0 {
		return
	}
	for _, row := range s.counted() {
		if row.TokensOut == nil {
			continue
		}
		t.OutAsked += int64(asked.Mean)
		if *row.TokensOut == int(asked.Mean) {
			t.ExactLength++
		}
	}
}

func (s *stage) verify(name string, value, limit float64, reason, text string) {
	c := report.Check{Name: name, Value: value, Limit: limit, OK: value <= limit}
	if !c.OK {
		c.Reason, c.Text = reason, text
	}
	s.result.Checks = append(s.result.Checks, c)
}

// sendRate is the rate between the first and the last send of the rows, in requests per second; 0 where they do not
// say.
func (s *stage) sendRate() float64 {
	var n int
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, row := range s.rows {
		if row.TSend != nil {
			first, last, n = min(first, *row.TSend), max(last, *row.TSend), n+1
		}
	}
	if n < 2 || last <= first {
		return 0
	}
	return float64(n-1) / (float64(last-first) / 1e9)
}
