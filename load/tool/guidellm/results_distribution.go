package guidellm

import (
	"context"
	"math"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

// stage is a stage on its way into a report.
type stage struct {
	*tools.Stage
	measurement *tools.Measurement
	requests    map[string]*tools.Requests // by the tool's status
	numbers     map[string]tools.Number
	scratch     []weighted
	ended       func() error // not nil once nobody waits for the numbers any more: they are none then
}

func newStage(ctx context.Context, m *tools.Measurement, s *tools.Stage) *stage {
	return &stage{Stage: s, measurement: m, requests: byStatus(s.Requests), numbers: tools.Numbers(), ended: ctx.Err}
}

// values are those of the requests of a status, until the next call.
func (s *stage) values(status string, value, weight tools.Number) []weighted {
	s.scratch = s.scratch[:0]
	if s.ended() == nil {
		s.scratch = values(s.scratch, s.requests[status], value, weight)
	}
	return s.scratch
}

// of is the distribution of a metric of ours under each status. Without rows what the report says stands for the
// successful ones.
func (s *stage) of(metric string, factor float64, weight tools.Number) map[string]summary {
	out := s.over(tools.In(s.numbers[metric], factor), weight)
	if m, ok := s.Metrics[metric]; ok && s.Requests.Len() == 0 {
		out["successful"], out["total"] = fromMetric(m, factor), fromMetric(m, factor)
	}
	return out
}

// over is the distribution of a number of the requests under each status.
func (s *stage) over(value, weight tools.Number) map[string]summary {
	out := map[string]summary{}
	for _, status := range statuses() {
		if same := s.requests["successful"]; status == "total" && s.requests[status].Len() == same.Len() {
			out[status] = out["successful"]
			continue
		}
		out[status] = summarize(s.values(status, value, weight))
	}
	return out
}

// none is the distribution of what no request has.
func none() map[string]summary {
	out := map[string]summary{}
	for _, status := range statuses() {
		out[status] = summarize(nil)
	}
	return out
}

// weigh is the sum of the weights of requests, rounded as the tool counts; one is the weight where none is given.
func weigh(of *tools.Requests, weight tools.Number) int64 {
	if weight == nil {
		return int64(of.Len())
	}
	total := 0.0
	for r := range of.Numbers() {
		if w, ok := weight(r); ok && w > 0 {
			total += w
		}
	}
	return int64(math.Round(total))
}

// rate is a rate under each status: means that agree with the report, spread over the seconds of the window where
// there is a series.
func (s *stage) rate(name string, perSecond func(report.Second) float64, weight tools.Number) map[string]summary {
	out := map[string]summary{}
	mean := s.Rates[name]
	whole := constant(mean, weigh(s.requests["successful"], weight))
	if len(s.Series) > 1 && perSecond != nil {
		xs := make([]weighted, len(s.Series))
		for i, second := range s.Series {
			xs[i] = weighted{perSecond(second), 1}
		}
		n := whole.Count
		whole = summarize(xs)
		whole.Mean, whole.Count, whole.TotalSum = mean, n, mean*float64(n)
	}
	out["successful"], out["total"] = whole, whole
	for _, status := range []string{"errored", "incomplete"} {
		share := 0.0
		if s.WindowS > 0 && name == "request_rate" {
			share = float64(s.requests[status].Len()) / s.WindowS
		}
		out[status] = constant(share, weigh(s.requests[status], weight))
	}
	return out
}

// concurrency is the number of requests in flight. It is weighted by time, so it has one distribution for all.
func (s *stage) concurrency() map[string]summary {
	out := none()
	if m, ok := s.Metrics["concurrency"]; ok {
		out["successful"], out["total"] = fromMetric(m, 1), fromMetric(m, 1)
	} else if e2e, ok := s.Metrics["e2e"]; ok { // by Little's law
		v := s.Rates["request_rate"] * e2e.Mean / 1e3
		out["successful"], out["total"] = constant(v, e2e.N), constant(v, e2e.N)
	}
	return out
}

// tokensOut weights a number by the output tokens of its request, less those left out.
func tokensOut(less int) tools.Number {
	return func(r *report.Row) (float64, bool) {
		if r.TokensOut == nil || *r.TokensOut-less < 1 {
			return 0, false
		}
		return float64(*r.TokensOut - less), true
	}
}

func events(r *report.Row) (float64, bool) {
	return tools.Count(func(r *report.Row) *int { return r.Events })(r)
}

// perEvent is output tokens per event, less the first ones.
func perEvent(less int) tools.Number {
	return func(r *report.Row) (float64, bool) {
		if r.Events == nil || r.TokensOut == nil || *r.Events-less < 1 || *r.TokensOut-less < 1 {
			return 0, false
		}
		return float64(*r.TokensOut-less) / float64(*r.Events-less), true
	}
}

// totals counts the measured requests. The counts of the report stand: rows may be a part of them.
func (s *stage) totals() breakdown {
	c := s.Counts.ByStatus
	ok, cut := c[report.StatusOK], c[report.StatusCut]+c[report.StatusCancelled]
	failed := s.Counts.Failed() - c[report.StatusDropped]
	return breakdown{Successful: ok, Incomplete: cut, Errored: failed, Total: ok + cut + failed}
}
