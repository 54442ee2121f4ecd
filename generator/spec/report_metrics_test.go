package spec

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestReportMetricsFile(t *testing.T) {
	got, found := LoadReportMetrics("m.yaml", []byte(`
description: d
metrics:
  - {metric: cpu, title: CPU, fallback_metric: cpu2, series: "{{pod}}", fallback_series_template: "{{series}}", yaxis: cores, scale: 0.5, required_labels: [pod]}
  - {name: mem, unit: GiB, series_template: x, reference_lines: [{y: 0}, {y: 80, label: limit, color: red, style: dot}]}
  - {query: "rate(x[5m])"}
`))
	if len(found) > 0 {
		t.Fatal(found.Error())
	}
	num := func(x float64) *float64 { return &x }
	want := &ReportMetrics{Title: "Prometheus Metrics", Description: "d", Metrics: []ReportMetric{
		{Metric: "cpu", Title: "CPU", FallbackMetric: "cpu2", Series: "{{pod}}", FallbackSeries: "{{series}}", YAxis: "cores",
			Scale: num(0.5), RequiredLabels: []string{"pod"}},
		{Metric: "mem", YAxis: "GiB", Series: "x", ReferenceLines: []ReferenceLine{
			{Y: num(0), Color: "#64748b", Dash: "dash"}, {Y: num(80), Label: "limit", Color: "red", Dash: "dot"}}},
		{Query: "rate(x[5m])"},
	}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(ReportMetrics{}, "Doc")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestMistakesInAReportMetricsFileAreReported(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"metrics are required", "title: x\n", "m.yaml:1:1: metrics: required field is missing"},
		{"metrics are not empty", "metrics: []\n", "m.yaml:1:10: metrics: want at least one metric, found none"},
		{"a chart has a source", "metrics:\n- title: x\n", "m.yaml:2:3: metrics[0]: want metric or query, found neither"},
		{"a chart has one source", "metrics:\n- {metric: x, query: y}\n",
			"m.yaml:2:22: metrics[0].query: want metric or query, found both"},
		{"a line has a height", "metrics:\n- {metric: x, reference_lines: [{label: a}]}\n",
			"m.yaml:2:33: metrics[0].reference_lines[0].y: required field is missing"},
		{"a typo", "metrics:\n- {metrc: x}\n",
			"m.yaml:2:4: metrics[0].metrc: unknown field \"metrc\" (did you mean \"metric\"?)"},
		{"nothing", "", "m.yaml: want one document with title and metrics, found 0"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, found := LoadReportMetrics("m.yaml", []byte(row.text)); found.Error() != row.want {
				t.Errorf("got  %s\nwant %s", found.Error(), row.want)
			}
		})
	}
}
