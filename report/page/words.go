package page

import (
	"fmt"
	"strings"

	"bflow.dev/bflow/load/shape"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/chart"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/verdict"
)

func num(v float64) string { return chart.Number(v) }

// absent stands for what was not measured.
const absent = "–"

func quantile(s *report.Stage, metric, q string) string {
	m, ok := s.Metrics[metric]
	if !ok || !m.Has(q) {
		return absent
	}
	if m.IsLowN(q) {
		return num(m.Quantiles[q]) + "~"
	}
	return num(m.Quantiles[q])
}

func greatest(m report.Metric) string {
	if !m.Has("max") {
		return absent
	}
	return num(m.Max)
}

func rate(s *report.Stage, name string) string {
	if v, ok := s.Rates[name]; ok && s.WindowS > 0 {
		return num(v)
	}
	return absent
}

func share(v float64) string {
	if v > 0 && v < 0.0001 {
		return "< 0.01 %"
	}
	return num(v*100) + " %"
}

func errorShare(s *report.Stage) string {
	if s.ErrorRate == nil {
		return absent
	}
	return share(*s.ErrorRate)
}

func failing(s *report.Stage) bool { return s.ErrorRate != nil && *s.ErrorRate > 0 }

// errorDetail is the errors by class: "http_5xx 12, reset 3".
func errorDetail(s *report.Stage) string {
	var parts []string
	for _, class := range sorted(s.Counts.ByClass) {
		parts = append(parts, fmt.Sprintf("%s %d", class, s.Counts.ByClass[class]))
	}
	for _, status := range []string{report.StatusCut, report.StatusCancelled, report.StatusDropped} {
		if n := s.Counts.ByStatus[status]; n > 0 && s.Counts.ByClass[status] == 0 {
			parts = append(parts, fmt.Sprintf("%s %d", status, n))
		}
	}
	return strings.Join(parts, ", ")
}

func goodput(s *report.Stage) string {
	if s.Goodput == nil {
		return absent
	}
	return share(s.Goodput.Attainment)
}

// loadWords is the load of a stage: "40 req/s", "8 streams".
func loadWords(s *report.Stage) string {
	v := report.LoadOf(s)
	if unit := shape.AxisOf(s.Planned.Shape).Unit; unit != "" {
		return num(v) + " " + unit
	}
	return s.Planned.Shape
}

// loadLabel is the load as a bare number, to stand in a chart.
func loadLabel(s *report.Stage) string {
	if v := report.LoadOf(s); v > 0 {
		return num(v)
	}
	return s.Planned.Name
}

func measurementWords(m runplan.Measurement) string {
	words := []string{m.API.Type, m.API.Path}
	if m.Data.Input != nil {
		words = append(words, fmt.Sprintf("%g tokens in (%s)", m.Data.Input.Mean, m.Data.Input.Shape))
	}
	if m.Data.Output != nil {
		words = append(words, fmt.Sprintf("%g tokens out (%s)", m.Data.Output.Mean, m.Data.Output.Shape))
	}
	return strings.Join(append(words, fmt.Sprintf("%d stages", len(m.Stages)), fmt.Sprintf("%d sample(s)", m.Samples)),
		", ")
}

// measuredStages are the pooled stages that count and ran.
func measuredStages(m *report.Measurement) []*report.Stage {
	var out []*report.Stage
	for i := range m.Pooled.Stages {
		if s := &m.Pooled.Stages[i]; s.Planned.Measure && !verdict.Skipped(s) {
			out = append(out, s)
		}
	}
	return out
}
