package guidellm

import (
	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/report/tools"
)

// stage is a stage on its way into a report.
type stage struct {
	*tools.Stage
	measurement *tools.Measurement
	rows        map[string][]report.Row // by the tool's status
	numbers     map[string]tools.Number
}

func newStage(m *tools.Measurement, s *tools.Stage) *stage {
	return &stage{Stage: s, measurement: m, rows: byStatus(s.Rows), numbers: tools.Numbers()}
}

// of is the distribution of a metric of ours under each status. Without rows what the report says stands for the
// successful ones.
func (s *stage) of(metric string, factor float64, weight tools.Number) map[string]summary {
	out := s.over(tools.In(s.numbers[metric], factor), weight)
	if m, ok := s.Metrics[metric]; ok && len(s.Rows) == 0 {
		out["successful"], out["total"] = fromMetric(m, factor), fromMetric(m, factor)
	}
	return out
}

// over is the distribution of a number of the rows under each status.
func (s *stage) over(value, weight tools.Number) map[string]summary {
	out := map[string]summary{}
	for _, status := range statuses() {
		out[status] = summarize(values(s.rows[status], value, weight))
	}
	return out
}

// rate is a rate under each status: means that agree with the report, spread over the seconds of the window where
// there is a series.
func (s *stage) rate(name string, perSecond func(report.Second) float64, weight tools.Number) map[string]summary {
	out := s.over(func(*report.Row) (float64, bool) { return 0, true }, weight)
	mean := s.Rates[name]
	whole := constant(mean, out["successful"].Count)
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
			share = float64(len(s.rows[status])) / s.WindowS
		}
		out[status] = constant(share, out[status].Count)
	}
	return out
}

// concurrency is the number of requests in flight. It is weighted by time, so it has one distribution for all.
func (s *stage) concurrency() map[string]summary {
	out := s.over(func(*report.Row) (float64, bool) { return 0, false }, nil)
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
func (s *stage) totals() object {
	c := s.Counts.ByStatus
	ok, cut := c[report.StatusOK], c[report.StatusCut]+c[report.StatusCancelled]
	failed := c[report.StatusFailed] + c[report.StatusTimeout] + c[report.StatusEmpty]
	return object{"successful": ok, "incomplete": cut, "errored": failed, "total": ok + cut + failed}
}
