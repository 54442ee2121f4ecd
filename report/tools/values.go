package tools

import "bflow.dev/bflow/report"

// Number returns one number of a request; false where it does not exist.
type Number func(r *report.Row) (float64, bool)

// Between returns the time from one stamp to another in ms.
func Between(from, to func(r *report.Row) *int64) Number {
	return func(r *report.Row) (float64, bool) {
		a, b := from(r), to(r)
		if a == nil || b == nil {
			return 0, false
		}
		return float64(*b-*a) / 1e6, true
	}
}

// Stamps of a row.
func (stamps) intended(r *report.Row) *int64 { return &r.TIntended }
func (stamps) send(r *report.Row) *int64     { return r.TSend }
func (stamps) first(r *report.Row) *int64    { return r.TFirst }
func (stamps) content(r *report.Row) *int64  { return r.TContent }
func (stamps) last(r *report.Row) *int64     { return r.TLast }

type stamps struct{}

// Finished is the end of a request that ended well: latencies to the end exist for those only.
func Finished(r *report.Row) *int64 {
	if r.Status != report.StatusOK {
		return nil
	}
	return r.TEnd
}

// PerToken divides a number by the output tokens of the request less those that are left out.
func PerToken(n Number, less int) Number {
	return func(r *report.Row) (float64, bool) {
		v, ok := n(r)
		if !ok || r.TokensOut == nil || *r.TokensOut-less < 1 {
			return 0, false
		}
		return v / float64(*r.TokensOut-less), true
	}
}

// Numbers are the metrics of one request under the names of report.MetricNames, by the same formulas and in the same
// units, and "tpot_over_n", (last - first)/n, which older tools call time per output token. The gaps between events
// are not among them: rows hold only their summary.
func Numbers() map[string]Number {
	var at stamps
	n := map[string]Number{
		"ttft": Between(at.send, at.first), "ttft_intended": Between(at.intended, at.first),
		"ttfc": Between(at.send, at.content), "ttfc_intended": Between(at.intended, at.content),
		"ttfb": Between(at.send, func(r *report.Row) *int64 { return r.TFirstByte }),
		"e2e":  Between(at.send, Finished), "e2e_intended": Between(at.intended, Finished),
		"e2e_last_token": Between(at.send, at.last),
		"sched_lag":      schedLag,
		"queue_wait":     sent(func(r *report.Row) int64 { return r.QueueWait }),
		"dial":           sent(func(r *report.Row) int64 { return r.Dial }),
		"tokens_in":      Count(func(r *report.Row) *int { return r.TokensIn }),
		"tokens_out":     Count(func(r *report.Row) *int { return r.TokensOut }),
	}
	n["tpot"] = PerToken(Between(at.first, at.last), 1)
	n["tpot_incl"] = PerToken(Between(at.send, at.last), 0)
	n["tpot_over_n"] = PerToken(Between(at.first, at.last), 0)
	n["ntpot"] = PerToken(n["e2e"], 0)
	n["output_rate_user"] = perSecond(n["e2e"], n["tokens_out"])
	n["total_rate_user"] = perSecond(n["e2e"], sum(n["tokens_in"], n["tokens_out"]))
	return n
}

// Count is a number of tokens or events as a Number.
func Count(f func(r *report.Row) *int) Number {
	return func(r *report.Row) (float64, bool) {
		if v := f(r); v != nil {
			return float64(*v), true
		}
		return 0, false
	}
}

// FirstCount is the first of some counts that a file says.
func FirstCount(counts ...*int) *int {
	for _, n := range counts {
		if n != nil && *n >= 0 {
			return n
		}
	}
	return nil
}

// In returns a number in another unit.
func In(n Number, factor float64) Number {
	return func(r *report.Row) (float64, bool) {
		v, ok := n(r)
		return v * factor, ok
	}
}

func sent(f func(r *report.Row) int64) Number {
	return func(r *report.Row) (float64, bool) { return float64(f(r)) / 1e6, r.TSend != nil }
}

func schedLag(r *report.Row) (float64, bool) {
	if r.TSend == nil {
		return 0, false
	}
	return float64(*r.TSend-r.TIntended-r.QueueWait-r.Dial) / 1e6, true
}

func sum(a, b Number) Number {
	return func(r *report.Row) (float64, bool) {
		x, ok := a(r)
		y, both := b(r)
		return x + y, ok && both
	}
}

// perSecond divides tokens by a latency in ms.
func perSecond(latency, tokens Number) Number {
	return func(r *report.Row) (float64, bool) {
		ms, ok := latency(r)
		n, both := tokens(r)
		if !ok || !both || ms <= 0 {
			return 0, false
		}
		return n / ms * 1e3, true
	}
}

// Summarize returns the summary of a number over the requests that have it; false where none has.
func Summarize(unit string, of *Requests, n Number) (report.Metric, bool) {
	d := report.NewDistribution(unit)
	d.Reset(unit, of.Len())
	for r := range of.Numbers() {
		if v, ok := n(r); ok {
			d.Add(v)
		}
	}
	return d.Metric()
}
