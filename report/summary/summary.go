// Package summary writes summary.csv: one row per measurement, sample and stage of a report, with flat column names
// that include the unit. It computes nothing.
package summary

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/sheet"
)

// column is a name and what it holds; "" where a stage has no such value.
type column struct {
	name  string
	value func(r *report.Report, m *report.Measurement, s *report.Stage) string
}

// Write writes the rows of the reports under one header.
func Write(w io.Writer, reports ...*report.Report) error {
	out, all := sheet.NewWriter(w), columns()
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.name
	}
	if err := out.Write(names); err != nil {
		return fmt.Errorf("writing the summary: %w", err)
	}
	for _, r := range reports {
		for i := range r.Measurements {
			for j := range r.Measurements[i].Samples {
				if err := writeRows(out, all, r, &r.Measurements[i], r.Measurements[i].Samples[j].Stages); err != nil {
					return fmt.Errorf("writing the summary: %w", err)
				}
			}
		}
	}
	out.Flush()
	return out.Error()
}

func writeRows(out *sheet.Writer, all []column, r *report.Report, m *report.Measurement, stages []report.Stage) error {
	for k := range stages {
		row := make([]string, len(all))
		for i, c := range all {
			row[i] = c.value(r, m, &stages[k])
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	return nil
}

func columns() []column {
	all := append(identity(), counts()...)
	for _, name := range []string{"request_rate", "output_token_rate", "input_token_rate", "total_token_rate",
		"offered_rate", "achieved_rate"} {
		all = append(all, column{rateName(name), func(_ *report.Report, _ *report.Measurement, s *report.Stage) string {
			return optional(s.Rates, name)
		}})
	}
	all = append(all, goodput()...)
	for _, metric := range report.MetricNames() {
		all = append(all, metricColumns(metric)...)
	}
	return all
}

// rateName adds the unit of a rate.
func rateName(name string) string {
	if strings.Contains(name, "token") {
		return name + "_tokens_per_s"
	}
	return name + "_per_s"
}

func identity() []column {
	of := func(f func(r *report.Report, m *report.Measurement, s *report.Stage) any) func(
		*report.Report, *report.Measurement, *report.Stage) string {
		return func(r *report.Report, m *report.Measurement, s *report.Stage) string { return fmt.Sprint(f(r, m, s)) }
	}
	return []column{
		{"run", of(func(r *report.Report, _ *report.Measurement, _ *report.Stage) any { return r.Run.ID })},
		{"plan_hash", of(func(r *report.Report, _ *report.Measurement, _ *report.Stage) any { return r.Plan.Hash })},
		{"model", of(func(r *report.Report, _ *report.Measurement, _ *report.Stage) any {
			return r.Plan.Deployment.Model.Name
		})},
		{"engine", of(func(r *report.Report, _ *report.Measurement, _ *report.Stage) any {
			return r.Plan.Deployment.Engine.Kind
		})},
		{"gpu", of(func(r *report.Report, _ *report.Measurement, _ *report.Stage) any {
			model, _ := report.GPUs(r.Plan)
			return model
		})},
		{"gpus", of(func(r *report.Report, _ *report.Measurement, _ *report.Stage) any {
			_, n := report.GPUs(r.Plan)
			return n
		})},
		{"stage", of(func(_ *report.Report, _ *report.Measurement, s *report.Stage) any { return s.Planned.Name })},
		{"rate", func(_ *report.Report, _ *report.Measurement, s *report.Stage) string {
			return nonZero(max(s.Rate, s.Planned.Rate))
		}},
		{"concurrency", func(_ *report.Report, _ *report.Measurement, s *report.Stage) string {
			return nonZero(float64(s.Planned.Concurrency))
		}},
		{"sample", of(func(_ *report.Report, _ *report.Measurement, s *report.Stage) any { return s.Sample })},
		{"verdict", of(func(r *report.Report, m *report.Measurement, s *report.Stage) any { return verdictOf(m, s) })},
		{"valid", of(func(_ *report.Report, _ *report.Measurement, s *report.Stage) any { return s.Valid })},
		{"token_count_source",
			of(func(_ *report.Report, m *report.Measurement, _ *report.Stage) any { return m.TokenCountSource })},
		{"attempt", of(func(r *report.Report, _ *report.Measurement, _ *report.Stage) any { return r.Run.Attempt })},
		{"measurement", of(func(_ *report.Report, m *report.Measurement, _ *report.Stage) any { return m.Index })},
		{"measurement_name", of(func(_ *report.Report, m *report.Measurement, _ *report.Stage) any { return m.Name })},
		{"stage_index", of(func(_ *report.Report, _ *report.Measurement, s *report.Stage) any { return s.Stage })},
		{"measured", of(func(_ *report.Report, _ *report.Measurement, s *report.Stage) any { return s.Planned.Measure })},
		{"invalid_reasons", of(func(_ *report.Report, _ *report.Measurement, s *report.Stage) any {
			return strings.Join(s.InvalidReasons, " ")
		})},
		{"ended", of(func(_ *report.Report, _ *report.Measurement, s *report.Stage) any { return s.Ended })},
		{"start_unix_ns", of(func(_ *report.Report, _ *report.Measurement, s *report.Stage) any {
			if s.StartNS == 0 { // skipped
				return ""
			}
			return s.StartNS
		})},
		{"window_s", of(func(_ *report.Report, _ *report.Measurement, s *report.Stage) any { return number(s.WindowS) })},
	}
}

// verdictOf is that of the stage over all samples: gates are judged on those.
func verdictOf(m *report.Measurement, s *report.Stage) string {
	for i := range m.Pooled.Stages {
		if m.Pooled.Stages[i].Stage == s.Stage {
			return m.Pooled.Stages[i].Verdict
		}
	}
	return ""
}

func counts() []column {
	all := []column{{"requests", func(_ *report.Report, _ *report.Measurement, s *report.Stage) string {
		return fmt.Sprint(s.Counts.Total)
	}}}
	for _, status := range []string{report.StatusOK, report.StatusFailed, report.StatusTimeout, report.StatusEmpty,
		report.StatusDropped, report.StatusCut, report.StatusCancelled} {
		all = append(all, column{"requests_" + status, func(_ *report.Report, _ *report.Measurement, s *report.Stage) string {
			return fmt.Sprint(s.Counts.ByStatus[status])
		}})
	}
	return append(all, column{"error_rate", func(_ *report.Report, _ *report.Measurement, s *report.Stage) string {
		if s.ErrorRate == nil {
			return ""
		}
		return number(*s.ErrorRate)
	}})
}

func goodput() []column {
	of := func(f func(g *report.GoodputResult) float64) func(*report.Report, *report.Measurement, *report.Stage) string {
		return func(_ *report.Report, _ *report.Measurement, s *report.Stage) string {
			if s.Goodput == nil {
				return ""
			}
			return number(f(s.Goodput))
		}
	}
	return []column{
		{"slo_attainment", of(func(g *report.GoodputResult) float64 { return g.Attainment })},
		{"goodput_per_s", of(func(g *report.GoodputResult) float64 { return g.RequestsPerS })},
		{"token_goodput_tokens_per_s", of(func(g *report.GoodputResult) float64 { return g.TokensPerS })},
	}
}

func metricColumns(metric string) []column {
	of := func(part string, f func(m report.Metric) float64) column {
		return column{MetricColumn(metric, part), func(_ *report.Report, _ *report.Measurement, s *report.Stage) string {
			m, ok := s.Metrics[metric]
			if !ok || part != "mean" && part != "stdev" && !m.Has(part) {
				return ""
			}
			return number(f(m))
		}}
	}
	all := []column{
		of("mean", func(m report.Metric) float64 { return m.Mean }), of("stdev", func(m report.Metric) float64 {
			return m.Stdev
		}),
		of("min", func(m report.Metric) float64 { return m.Min }), of("max", func(m report.Metric) float64 { return m.Max }),
	}
	for _, q := range report.Quantiles {
		all = append(all, of(q.Name, func(m report.Metric) float64 { return m.Quantiles[q.Name] }))
	}
	return append(all, column{metric + "_n", func(_ *report.Report, _ *report.Measurement, s *report.Stage) string {
		if m, ok := s.Metrics[metric]; ok {
			return fmt.Sprint(m.N)
		}
		return ""
	}})
}

// MetricColumn is the flat name of a part of a metric, with its unit: ttft_p95_ms, tokens_out_mean.
func MetricColumn(metric, part string) string {
	switch unit := report.Unit(metric); unit {
	case "tokens", "count":
		return metric + "_" + part
	case "ms_per_token":
		return metric + "_" + part + "_ms"
	default:
		return metric + "_" + part + "_" + unit
	}
}

func optional(m map[string]float64, key string) string {
	if v, ok := m[key]; ok {
		return number(v)
	}
	return ""
}

func nonZero(v float64) string {
	if v == 0 {
		return ""
	}
	return number(v)
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
