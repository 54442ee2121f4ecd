package aiperf

import (
	"math"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

// toMS are the factors of units of time to ms.
func toMS(unit string) float64 {
	switch unit {
	case "sec", "s":
		return 1e3
	case "us":
		return 1e-3
	case "ns":
		return 1e-6
	}
	return 1
}

// metric turns a result into ours; false without a mean or a count.
func (r result) metric(unit string) (report.Metric, bool) {
	if r.Avg == nil || r.Count == nil || *r.Count <= 0 {
		return report.Metric{}, false
	}
	factor := 1.0
	if unit == "ms" || unit == "ms_per_token" {
		factor = toMS(r.Unit)
	}
	m := report.Metric{Unit: unit, N: *r.Count, Mean: *r.Avg * factor, Sum: *r.Avg * factor * float64(*r.Count),
		Quantiles: map[string]float64{}}
	if r.Std != nil {
		m.Stdev = *r.Std * factor
	}
	if r.Sum != nil {
		m.Sum = *r.Sum * factor
	}
	if r.Min != nil && r.Max != nil {
		m.Min, m.Max = *r.Min*factor, *r.Max*factor
	} else {
		m.Absent = []string{"min", "max"}
	}
	for name, v := range r.quantiles() {
		if *v != nil {
			m.Quantiles[name] = **v * factor
		}
	}
	m.LowN = report.LowQuantiles(m.N)
	return m, true
}

// numbers takes counts, rates and distributions of the summary. Clean runs leave the count of errors out: it is 0.
func (f *summary) numbers(in *tools.Imported, s *tools.ImportedStage) {
	all := f.Metrics
	count := func(name string) int {
		r := all[name]
		if r.Avg == nil || *r.Avg < 0 || *r.Avg > 1e12 {
			return 0
		}
		return int(math.Round(*r.Avg))
	}
	ok, bad := count("request_count"), count("error_request_count")
	if n := count("osl_mismatch_count"); n > 0 {
		in.Note("%d requests have not the number of tokens that was asked for: "+
			"AIPerf counts a stream that broke off or brought an error event as success", n)
	}
	s.Counts = tools.CountsOf(map[string]int{report.StatusOK: ok, report.StatusFailed: bad})
	for _, e := range f.Errors {
		if bad > 0 {
			tools.CountFailures(&s.Counts, e.Count, e.Details.Code, e.Details.Type, e.Details.Message)
		}
	}
	for theirs, ours := range map[string]string{"time_to_first_token": "ttft", "time_to_first_output_token": "ttfc",
		"inter_token_latency": "tpot", "inter_chunk_latency": "itl", "request_latency": "e2e_last_token",
		"input_sequence_length": "tokens_in", "output_sequence_length": "tokens_out",
		"credit_to_start_latency": "sched_lag"} {
		if m, ok := all[theirs].metric(report.Unit(ours)); ok {
			s.Metrics[ours] = m
		}
	}
	s.Tokens.In, s.Tokens.Out = int64(count("total_isl")), int64(count("total_osl"))
	s.SetRates(map[string]*float64{"request_rate": all["request_throughput"].Avg,
		"output_token_rate": all["output_token_throughput"].Avg, "input_token_rate": all["input_token_throughput"].Avg,
		"total_token_rate": all["total_token_throughput"].Avg})
	if good, found := all["good_request_count"]; found && good.Avg != nil && s.Counts.Total > 0 {
		g := &report.GoodputResult{Good: min(count("good_request_count"), s.Counts.Total), Of: s.Counts.Total}
		g.Attainment = float64(g.Good) / float64(g.Of)
		if r := all["goodput"]; r.Avg != nil {
			g.RequestsPerS = *r.Avg
		}
		s.Goodput = g
	}
}
