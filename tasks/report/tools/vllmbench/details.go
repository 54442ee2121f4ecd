package vllmbench

import (
	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/report/tools"
)

// details adds the lists of requests in s. A failed request has ttft 0, no output and an error text, as in the tool.
// The gaps between events are there where they were recorded.
func details(out object, s *tools.Stage) {
	n := len(s.Rows)
	in, tokens, ttfts, latencies := make([]int, n), make([]int, n), make([]float64, n), make([]float64, n)
	starts, waits, failures := make([]float64, n), make([]float64, n), make([]string, n)
	texts, gaps, recorded := make([]string, n), make([][]float64, n), false
	numbers := tools.Numbers()
	for i := range s.Rows {
		r := &s.Rows[i]
		gaps[i] = []float64{}
		for _, g := range r.Gaps {
			gaps[i], recorded = append(gaps[i], float64(g)/1e6), true
		}
		in[i] = first(r.TokensIn, r.TokensInAsked)
		starts[i], waits[i] = float64(r.TIntended)/1e9, float64(r.QueueWait)/1e9
		if r.TSend != nil {
			starts[i] = float64(*r.TSend) / 1e9
		}
		if r.Status != report.StatusOK {
			failures[i] = failure(r)
			continue
		}
		tokens[i] = first(r.TokensOut)
		if v, ok := numbers["ttft"](r); ok {
			ttfts[i] = v / 1e3
		}
		if v, ok := numbers["e2e_last_token"](r); ok {
			latencies[i] = v / 1e3
		} else if v, ok := numbers["e2e"](r); ok {
			latencies[i] = v / 1e3
		}
	}
	for key, list := range map[string]any{"input_lens": in, "output_lens": tokens, "ttfts": ttfts, "latencies": latencies,
		"start_times": starts, "queue_times": waits, "generated_texts": texts, "errors": failures} {
		out[key] = list
	}
	if recorded {
		out["itls"] = gaps
	}
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
