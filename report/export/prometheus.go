package export

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/summary"
)

// prometheus writes the text format: a gauge per number of a stage, grouped by name as the format asks.
func prometheus(w io.Writer, run Run) error {
	lines := map[string][]string{}
	r := run.Report
	err := eachStage(r, func(m *report.Measurement, s *report.Stage) error {
		labels := fmt.Sprintf(`run="%s",experiment="%s",plan_hash="%s",model="%s",measurement="%s",stage="%s"`,
			label(r.Run.ID), label(r.Plan.Experiment),
			r.Plan.Hash, label(r.Plan.Deployment.Model.Name), label(m.Name), label(s.Planned.Name))
		add := func(name, more string, v float64) {
			name = "bflow_" + name
			lines[name] = append(lines[name], fmt.Sprintf("%s{%s%s} %v", name, labels, more, v))
		}
		stageNumbers(s, add)
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		if _, err := fmt.Fprintf(w, "# TYPE %s gauge\n%s\n", name, strings.Join(lines[name], "\n")); err != nil {
			return err
		}
	}
	return nil
}

func stageNumbers(s *report.Stage, add func(name, more string, v float64)) {
	for _, name := range slices.Sorted(maps.Keys(s.Rates)) {
		add(name, "", s.Rates[name])
	}
	for _, status := range slices.Sorted(maps.Keys(s.Counts.ByStatus)) {
		add("requests", fmt.Sprintf(`,status="%s"`, label(status)), float64(s.Counts.ByStatus[status]))
	}
	if s.ErrorRate != nil {
		add("error_rate", "", *s.ErrorRate)
	}
	if s.Goodput != nil {
		add("slo_attainment", "", s.Goodput.Attainment)
	}
	valid := 0.0
	if s.Valid {
		valid = 1
	}
	add("valid", "", valid)
	for _, metric := range slices.Sorted(maps.Keys(s.Metrics)) {
		m := s.Metrics[metric]
		for _, q := range []string{"p50", "p90", "p95", "p99"} {
			if !m.Has(q) {
				continue
			}
			add(summary.MetricColumn(metric, q), fmt.Sprintf(`,low_n="%t"`, m.IsLowN(q)), m.Quantiles[q])
		}
		add(summary.MetricColumn(metric, "mean"), "", m.Mean)
	}
}

func label(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s)
}
