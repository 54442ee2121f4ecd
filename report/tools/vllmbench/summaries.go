package vllmbench

import (
	"encoding/json"
	"sort"
	"strings"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

// names are our metrics by the tool's.
func names() map[string]string {
	return map[string]string{"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2el": "e2e_last_token", "client_queue_time": "queue_wait"}
}

// summaries read the distributions that the file has. Which it has, and which percentiles, its flags said; there is no
// least and no greatest value.
func (f *file) summaries(doc tools.Document, s *tools.ImportedStage) error {
	var all map[string]json.RawMessage
	if err := tools.Decode(doc, &all); err != nil {
		return err
	}
	for _, theirs := range sorted(names()) {
		ours := names()[theirs]
		m := report.Metric{Unit: report.Unit(ours), N: int64(s.Counts.ByStatus[report.StatusOK]), Quantiles: map[string]float64{}, Absent: []string{"min", "max"}}
		if theirs == "itl" { // one per gap: as many as tokens less the first of each request
			m.N = max(0, s.Tokens.Out-m.N)
		}
		known := false
		for key, raw := range all {
			part, ok := strings.CutSuffix(key, "_"+theirs+"_ms")
			var v *float64
			if !ok || json.Unmarshal(raw, &v) != nil || v == nil {
				continue
			}
			switch q, isQuantile := strings.CutPrefix(part, "p"); {
			case part == "mean":
				m.Mean, known = *v, true
			case part == "std":
				m.Stdev = *v
			case part == "median":
				m.Quantiles["p50"] = *v
			case isQuantile:
				m.Quantiles["p"+strings.ReplaceAll(q, ".", "_")] = *v
			}
		}
		if !known || m.N == 0 {
			continue
		}
		m.Sum = m.Mean * float64(m.N)
		for _, q := range report.Quantiles {
			if report.LowN(m.N, q.P) {
				m.LowN = append(m.LowN, q.Name)
			}
		}
		s.Metrics[ours] = m
	}
	return nil
}

func sorted(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
