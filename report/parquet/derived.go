package parquet

import "bflow.dev/bflow/report"

// derived are the times of a request in ms; their formulas are those of the metrics of package report.
func derived() []column {
	return []column{
		between("ttft_ms", send, first), between("ttft_intended_ms", intended, first), between("ttfc_ms", send, content),
		between("e2e_ms", send, end), between("e2e_intended_ms", intended, end),
		{name: "sched_lag_ms", real: func(r *report.Row) (float64, bool) {
			if r.TSend == nil {
				return 0, false
			}
			return float64(*r.TSend-r.TIntended-r.QueueWait-r.Dial) / 1e6, true
		}},
		perToken("tpot_ms", first, last, -1), perToken("tpot_incl_ms", send, last, 0), perToken("ntpot_ms", send, end, 0),
		itl("itl_mean_ms", func(r *report.Row) *float64 { return r.ITLMean }),
		itl("itl_p50_ms", func(r *report.Row) *float64 { return r.ITLP50 }),
		itl("itl_p99_ms", func(r *report.Row) *float64 { return r.ITLP99 }),
		itl("itl_max_ms", func(r *report.Row) *float64 { return r.ITLMax }),
	}
}

type stamp func(r *report.Row) *int64

func intended(r *report.Row) *int64 { return &r.TIntended }
func send(r *report.Row) *int64     { return r.TSend }
func first(r *report.Row) *int64    { return r.TFirst }
func content(r *report.Row) *int64  { return r.TContent }
func last(r *report.Row) *int64     { return r.TLast }
func end(r *report.Row) *int64      { return r.TEnd }

func between(name string, from, to stamp) column {
	return column{name: name, real: func(r *report.Row) (float64, bool) {
		a, b := from(r), to(r)
		if a == nil || b == nil {
			return 0, false
		}
		return float64(*b-*a) / 1e6, true
	}}
}

// perToken is a time divided by the output tokens and so many more.
func perToken(name string, from, to stamp, more int) column {
	span := between(name, from, to).real
	return column{name: name, real: func(r *report.Row) (float64, bool) {
		ms, ok := span(r)
		if !ok || r.TokensOut == nil || *r.TokensOut+more <= 0 {
			return 0, false
		}
		return ms / float64(*r.TokensOut+more), true
	}}
}

func itl(name string, f func(r *report.Row) *float64) column {
	return column{name: name, real: func(r *report.Row) (float64, bool) {
		if p := f(r); p != nil {
			return *p, true
		}
		return 0, false
	}}
}
