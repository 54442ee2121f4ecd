package vllmbench

import (
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

// details adds the lists of requests in s. A failed request has ttft 0, no output and an error text, as in the tool.
// The gaps between events are there where they were recorded.
func details(out object, s *tools.Stage) {
	all, numbers := s.Requests, tools.Numbers()
	answered := func(of func(r *report.Row) any, otherwise any) tools.List {
		return tools.NumbersAs(all, func(r *report.Row) any {
			if r.Status != report.StatusOK {
				return otherwise
			}
			return of(r)
		})
	}
	out["input_lens"] = tools.NumbersAs(all, func(r *report.Row) any { return first(r.TokensIn, r.TokensInAsked) })
	out["output_lens"] = answered(func(r *report.Row) any { return first(r.TokensOut) }, 0)
	out["ttfts"] = answered(func(r *report.Row) any { return inSeconds(r, numbers["ttft"]) }, 0.0)
	out["latencies"] = answered(func(r *report.Row) any { return inSeconds(r, numbers["e2e_last_token"], numbers["e2e"]) }, 0.0)
	out["start_times"] = tools.NumbersAs(all, func(r *report.Row) any {
		if r.TSend != nil {
			return float64(*r.TSend) / 1e9
		}
		return float64(r.TIntended) / 1e9
	})
	out["queue_times"] = tools.NumbersAs(all, func(r *report.Row) any { return float64(r.QueueWait) / 1e9 })
	out["generated_texts"] = tools.NumbersAs(all, func(*report.Row) any { return "" })
	out["errors"] = tools.RequestsAs(all, func(r *report.Row) any {
		if r.Status == report.StatusOK {
			return ""
		}
		return failure(r)
	})
	if all.HasGaps() {
		out["itls"] = tools.RequestsAs(all, func(r *report.Row) any {
			gaps := make([]float64, len(r.Gaps))
			for i, g := range r.Gaps {
				gaps[i] = float64(g) / 1e6
			}
			return gaps
		})
	}
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

func first(counts ...*int) int {
	for _, n := range counts {
		if n != nil {
			return *n
		}
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
