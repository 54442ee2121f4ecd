package report

import "strings"

// MetricNames are the distributions of a stage, each measured from the send and, with _intended, from the intended
// send. Their formulas are in docs; Unit gives their units.
func MetricNames() []string {
	return []string{
		"ttft", "ttft_intended", "ttfc", "ttfc_intended", "ttfb",
		"itl", "itl_perceived", "itl_smoothed",
		"tpot", "tpot_strict", "tpot_incl", "ntpot",
		"e2e", "e2e_intended", "e2e_last_token",
		"output_rate_user", "total_rate_user",
		"sched_lag", "queue_wait", "dial", "client_lag",
		"tokens_in", "tokens_out", "concurrency",
	}
}

// Unit returns the unit of a metric of MetricNames.
func Unit(metric string) string {
	switch {
	case strings.HasSuffix(metric, "_rate_user"):
		return "tokens_per_s"
	case strings.HasPrefix(metric, "tokens_"):
		return "tokens"
	case strings.Contains(metric, "tpot"):
		return "ms_per_token"
	case metric == "concurrency":
		return "count"
	}
	return "ms"
}
