package spec

import (
	"time"

	"bflow.dev/bflow/load"
)

// BenchmarkSpec is the body of a BenchmarkProfile. Only the block of the chosen tool counts.
type BenchmarkSpec struct {
	Tool         string            `json:"tool,omitempty" default:"guidellm" enumof:"tools" doc:"tool whose options the profile uses"`
	Env          map[string]string `json:"env,omitempty" keys:"env" secret:"true" doc:"environment variables of the load pod"`
	Requirements Requirements      `json:"requirements,omitempty" doc:"requirements on the server"`
	Blocks       ToolBlocks        // a key per tool
	Load         *load.NativeBlock `json:"load,omitempty" doc:"load for tool native"`
	ToolVenv     string            `json:"tool_venv,omitempty" implied:"the tool on PATH" doc:"virtual environment of the original tool on this machine, for local runs with tool_runner external"`
}

// Requirements of a load.
type Requirements struct {
	MinMaxModelLen int `json:"min_max_model_len,omitempty" min:"1" unit:"tokens" doc:"lowest sufficient --max-model-len"`
}

// MetricsSpec is the body of a MetricsProfile.
type MetricsSpec struct {
	PrometheusURL string            `json:"prometheus_url" secret:"true" req:"true" is:"url" doc:"URL of the Prometheus API"`
	QueryStep     time.Duration     `json:"query_step,omitempty" default:"15s" bare:"s" doc:"step of range queries; a plain number is in seconds"`
	QueryTimeout  time.Duration     `json:"query_timeout,omitempty" default:"30s" bare:"s" doc:"timeout of one query; a plain number is in seconds"`
	VerifyTLS     bool              `json:"verify_tls,omitempty" default:"false" doc:"verify the server's certificate; always on for a server that gets a token"`
	Queries       map[string]string `json:"queries,omitempty" maxitems:"500" doc:"PromQL queries by name, evaluated over the load window"`
}

// ReportMetrics is the report-metrics file: which archived series a report draws. It has no kind.
type ReportMetrics struct {
	Doc         `json:"-"`
	Title       string         `json:"title,omitempty" default:"Prometheus Metrics" doc:"heading"`
	Description string         `json:"description,omitempty" doc:"text below the heading"`
	Metrics     []ReportMetric `json:"metrics" req:"true" doc:"charts to draw"`
}

// ReportMetric is one chart.
type ReportMetric struct {
	Metric         string          `json:"metric,omitempty" alias:"name" doc:"name of a collected query"`
	Query          string          `json:"query,omitempty" doc:"PromQL query, instead of metric"`
	Title          string          `json:"title,omitempty" doc:"title of the chart"`
	Description    string          `json:"description,omitempty" doc:"text below the title"`
	FallbackMetric string          `json:"fallback_metric,omitempty" doc:"metric to draw if the first has no points"`
	Series         string          `json:"series,omitempty" alias:"series_template" doc:"legend template with {{label}} and {{series}}"`
	FallbackSeries string          `json:"fallback_series,omitempty" alias:"fallback_series_template" doc:"legend template of the fallback metric"`
	YAxis          string          `json:"yaxis,omitempty" alias:"unit" implied:"by metric name" doc:"label of the y axis"`
	Scale          *float64        `json:"scale,omitempty" implied:"by metric name" doc:"factor for every value"`
	RequiredLabels []string        `json:"required_labels,omitempty" doc:"labels that a point must have; others are dropped"`
	ReferenceLines []ReferenceLine `json:"reference_lines,omitempty" doc:"horizontal lines"`
}

// ReferenceLine is a horizontal line in a chart.
type ReferenceLine struct {
	Y     *float64 `json:"y" req:"true" doc:"value on the y axis"`
	Label string   `json:"label,omitempty" doc:"text beside the line"`
	Color string   `json:"color,omitempty" default:"#64748b" doc:"CSS colour"`
	Dash  string   `json:"dash,omitempty" alias:"style" default:"dash" doc:"line style"`
}
