package vllmbench

import (
	"cmp"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

// makeLists are the lists of requests in s. A failed request has ttft 0, no output and an error text, as in the tool.
// The gaps between events are there where they were recorded.
func makeLists(s *tools.Stage) lists {
	all, numbers := s.Requests, tools.Numbers()
	answered := func(of func(r *report.Row) float64) tools.Stream[*float64] {
		return numbersOf(all, func(r *report.Row) float64 {
			if r.Status != report.StatusOK {
				return 0
			}
			return of(r)
		})
	}
	empty := ""
	out := lists{
		InputLens:  numbersOf(all, func(r *report.Row) float64 { return first(r.TokensIn, r.TokensInAsked) }),
		OutputLens: answered(func(r *report.Row) float64 { return first(r.TokensOut) }),
		TTFTs:      answered(func(r *report.Row) float64 { return inSeconds(r, numbers["ttft"]) }),
		Latency:    answered(func(r *report.Row) float64 { return inSeconds(r, numbers["e2e_last_token"], numbers["e2e"]) }),
		StartTimes: numbersOf(all, func(r *report.Row) float64 {
			if r.TSend != nil {
				return float64(*r.TSend) / 1e9
			}
			return float64(r.TIntended) / 1e9
		}),
		QueueTimes: numbersOf(all, func(r *report.Row) float64 { return float64(r.QueueWait) / 1e9 }),
		Texts:      tools.StreamNumbers(all, func(*report.Row) *string { return &empty }),
		Errors: tools.StreamRequests(all, func(r *report.Row) *string {
			if r.Status == report.StatusOK {
				return &empty
			}
			return new(failure(r))
		}),
	}
	if all.HasGaps() {
		out.ITLs = tools.StreamRequests(all, gaps)
	}
	return out
}

func numbersOf(all *tools.Requests, of func(r *report.Row) float64) tools.Stream[*float64] {
	return tools.StreamNumbers(all, func(r *report.Row) *float64 { return new(of(r)) })
}

func gaps(r *report.Row) []*float64 {
	values, out := make([]float64, len(r.Gaps)), make([]*float64, len(r.Gaps))
	for i, g := range r.Gaps {
		values[i] = float64(g) / 1e6
		out[i] = &values[i]
	}
	return out
}

// inSeconds is the first of some numbers in ms that the request has, 0 where it has none.
func inSeconds(r *report.Row, numbers ...tools.Number) float64 {
	for _, n := range numbers {
		if v, ok := n(r); ok {
			return v / 1e3
		}
	}
	return 0
}

func first(counts ...*int) float64 {
	if n := cmp.Or(counts...); n != nil {
		return float64(*n)
	}
	return 0
}

func failure(r *report.Row) string {
	switch {
	case r.Error != "" && r.ErrorClass != "":
		return r.ErrorClass + ": " + r.Error
	case r.ErrorClass != "":
		return r.ErrorClass
	}
	return r.Status
}
