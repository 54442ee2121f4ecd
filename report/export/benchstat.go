package export

import (
	"fmt"
	"io"
	"strings"

	"bflow.dev/bflow/report"
)

// benchstat writes a line per sample and stage in the format of Go benchmarks.
func benchstat(w io.Writer, run Run) error {
	for _, m := range run.Report.Measurements {
		for _, sample := range m.Samples {
			for i := range sample.Stages {
				s := &sample.Stages[i]
				if !s.Planned.Measure || len(s.Metrics) == 0 {
					continue
				}
				if _, err := fmt.Fprintln(w, benchLine(s)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func benchLine(s *report.Stage) string {
	line := "BenchmarkLoad/" + strings.ReplaceAll(s.Planned.Name, " ", "_") + " 1"
	for _, metric := range []string{"ttft", "ttft_intended", "itl", "tpot", "e2e"} {
		m, ok := s.Metrics[metric]
		if !ok {
			continue
		}
		for _, q := range []string{"p50", "p95", "p99"} {
			if !m.Has(q) {
				continue
			}
			line += fmt.Sprintf(" %g %s-%s-ms", m.Quantiles[q], strings.ReplaceAll(metric, "_", "-"), q)
		}
	}
	for _, name := range []string{"request_rate", "output_token_rate"} {
		if v, ok := s.Rates[name]; ok {
			line += fmt.Sprintf(" %g %s/s", v, strings.TrimSuffix(strings.ReplaceAll(name, "_", "-"), "-rate"))
		}
	}
	if s.ErrorRate != nil {
		line += fmt.Sprintf(" %g error-share", *s.ErrorRate)
	}
	return line
}
