package format

import (
	"testing"

	"bflow.dev/bflow/generator/spec"
)

// The report-metrics file of section 4.
func TestReportMetricsFiles(t *testing.T) {
	for _, r := range []struct {
		name, file string
		want       fields
		errors     string
	}{
		{name: "the least", file: "metrics: [{metric: up}]",
			want: fields{"title": "Prometheus Metrics", "metrics": list{fields{"metric": "up"}}}},
		{name: "every key", file: `
title: T
description: D
metrics:
- {query: "rate(x[$__rate_interval])", title: a, description: b, fallback_metric: c, series: "{{pod}}", fallback_series: "{{series}}", yaxis: GiB, scale: 0.5, required_labels: [pod], reference_lines: [{y: 5}, {y: 0, label: l, color: red, dash: dot}]}
`, want: fields{"title": "T", "description": "D", "metrics": list{fields{
			"query": "rate(x[$__rate_interval])", "title": "a", "description": "b", "fallback_metric": "c",
			"series": "{{pod}}", "fallback_series": "{{series}}",
			"yaxis": "GiB", "scale": 0.5, "required_labels": list{"pod"},
			"reference_lines": list{fields{"y": 5, "color": "#64748b", "dash": "dash"},
				fields{"y": 0, "label": "l", "color": "red", "dash": "dot"}},
		}}}},
		{name: "every alias", file: `metrics: [{name: up, series_template: "{{a}}", fallback_series_template: b, ` +
			`unit: "%", reference_lines: [{y: 1, style: dot}]}]`,
			want: fields{
				"metrics": list{fields{"metric": "up", "series": "{{a}}", "fallback_series": "b", "yaxis": "%",
					"reference_lines": list{fields{"dash": "dot"}}}},
			}},
		{name: "metrics are required", file: "title: T", errors: "m.yaml:1:1: metrics: required field is missing"},
		{name: "metrics are not empty", file: "metrics: []",
			errors: "m.yaml:1:10: metrics: want at least one metric, found none"},
		{name: "a chart of nothing, of two things, and a line without a height",
			file: "metrics: [{title: a}, {metric: a, query: b}, {metric: a, reference_lines: [{label: x}]}]",
			errors: "m.yaml:1:11: metrics[0]: want metric or query, found neither\nm.yaml:1:42: metrics[1].query: " +
				"want metric or query, found both\nm.yaml:1:76: metrics[2].reference_lines[0].y: required " +
				"field is missing"},
		{name: "a typo", file: "metrics: [{metrc: up}]",
			errors: "m.yaml:1:12: metrics[0].metrc: unknown field \"metrc\" (did you mean \"metric\"?)"},
	} {
		t.Run(r.name, func(t *testing.T) {
			got, problems := spec.LoadReportMetrics("m.yaml", []byte(r.file))
			same(t, "problems", r.errors, problems)
			if r.errors != "" || t.Failed() {
				return
			}
			for _, diff := range differs("file", r.want, plain(t, got)) {
				t.Error(diff)
			}
		})
	}
}
