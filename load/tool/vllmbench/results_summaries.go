package vllmbench

import (
	"strings"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

// latency is a latency of the tool and our metric of it.
type latency struct{ name, metric string }

// latencies are those that a person can choose.
func latencies() []latency {
	return []latency{{"ttft", "ttft"}, {"tpot", "tpot"}, {"itl", "itl"}, {"e2el", "e2e_last_token"}}
}

// queueTime is the time in the client's own queue, which a result always has where it is known.
func queueTime() latency { return latency{"client_queue_time", "queue_wait"} }

// summaries read the distributions that the file has. Which it has, and which percentiles, its flags said; there is no
// least and no greatest value.
func (r *result) summaries(s *tools.ImportedStage) {
	for _, l := range append(latencies(), queueTime()) {
		m := report.Metric{Unit: report.Unit(l.metric), N: int64(s.Counts.ByStatus[report.StatusOK]),
			Quantiles: map[string]float64{}, Absent: []string{"min", "max"}}
		if l.name == "itl" { // one per gap: as many as tokens less the first of each request
			m.N = max(0, s.Tokens.Out-m.N)
		}
		known := false
		for member, v := range r.Latencies {
			part, ok := partOf(member, l.name)
			if !ok {
				continue
			}
			switch q, isQuantile := strings.CutPrefix(part, "p"); {
			case part == "mean":
				m.Mean, known = v, true
			case part == "std":
				m.Stdev = v
			case part == "median":
				m.Quantiles["p50"] = v
			case isQuantile:
				m.Quantiles["p"+strings.ReplaceAll(q, ".", "_")] = v
			}
		}
		if !known || m.N == 0 {
			continue
		}
		m.Sum = m.Mean * float64(m.N)
		m.LowN = report.LowQuantiles(m.N)
		s.Metrics[l.metric] = m
	}
}
