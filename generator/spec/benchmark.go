package spec

import "time"

// BenchmarkSpec is the body of a BenchmarkProfile. Only the block of the chosen tool counts.
type BenchmarkSpec struct {
	Tool          string            `json:"tool,omitempty" default:"guidellm" enum:"guidellm|aiperf|inference-perf|vllm-bench|inferencemax|native" doc:"whose words the profile uses"`
	Env           map[string]string `json:"env,omitempty" keys:"env" secret:"true" doc:"environment of the load pod"`
	Requirements  Requirements      `json:"requirements,omitempty" doc:"what the server must offer"`
	GuideLLM      Object            `json:"guidellm,omitzero" doc:"GuideLLM run options"`
	AIPerf        Object            `json:"aiperf,omitzero" doc:"AIPerf options"`
	InferencePerf InferencePerf     `json:"inference_perf,omitempty" doc:"inference-perf"`
	VLLMBench     Object            `json:"vllm_bench,omitzero" doc:"flags of vllm bench serve, without --"`
	InferenceMAX  Object            `json:"inferencemax,omitzero" doc:"flags of InferenceMAX's benchmark_serving.py, without --"`
	Load          *LoadBlock        `json:"load,omitempty" doc:"tool native: the load in our own words"`
	ToolVenv      string            `json:"tool_venv,omitempty" implied:"the tool on PATH" doc:"virtual environment of the real tool on this host, for local runs with tool_runner external"`
}

// Requirements of a load.
type Requirements struct {
	MinMaxModelLen int `json:"min_max_model_len,omitempty" min:"1" unit:"tokens" doc:"smallest --max-model-len that fits"`
}

// InferencePerf holds that tool's own configuration.
type InferencePerf struct {
	Config Object `json:"config,omitzero" doc:"the tool's configuration file"`
}

// MetricsSpec is the body of a MetricsProfile.
type MetricsSpec struct {
	PrometheusURL string            `json:"prometheus_url" secret:"true" req:"true" is:"url" doc:"Prometheus API"`
	QueryStep     time.Duration     `json:"query_step,omitempty" default:"15s" bare:"s" doc:"resolution of range queries; a bare number is seconds"`
	QueryTimeout  time.Duration     `json:"query_timeout,omitempty" default:"30s" bare:"s" doc:"limit of one query; a bare number is seconds"`
	VerifyTLS     bool              `json:"verify_tls,omitempty" default:"false" doc:"check the certificate; that of a server which gets a token is always checked"`
	Queries       map[string]string `json:"queries,omitempty" maxitems:"500" doc:"name to PromQL, run over the load window"`
}

// ReportMetrics is the report-metrics file: which archived series a report draws. It has no kind.
type ReportMetrics struct {
	Doc         `json:"-"`
	Title       string         `json:"title,omitempty" default:"Prometheus Metrics" doc:"heading"`
	Description string         `json:"description,omitempty" doc:"text below the heading"`
	Metrics     []ReportMetric `json:"metrics" req:"true" doc:"the charts"`
}

// ReportMetric is one chart.
type ReportMetric struct {
	Metric         string          `json:"metric,omitempty" alias:"name" doc:"name of a collected query"`
	Query          string          `json:"query,omitempty" doc:"or its text"`
	Title          string          `json:"title,omitempty" doc:"title of the chart"`
	Description    string          `json:"description,omitempty" doc:"text below the title"`
	FallbackMetric string          `json:"fallback_metric,omitempty" doc:"drawn when the metric has no points"`
	Series         string          `json:"series,omitempty" alias:"series_template" doc:"legend template: {{label}}, {{series}}"`
	FallbackSeries string          `json:"fallback_series,omitempty" alias:"fallback_series_template" doc:"legend template of the fallback"`
	YAxis          string          `json:"yaxis,omitempty" alias:"unit" implied:"by metric name" doc:"label of the y axis"`
	Scale          *float64        `json:"scale,omitempty" implied:"by metric name" doc:"factor for every value"`
	RequiredLabels []string        `json:"required_labels,omitempty" doc:"points lacking one are dropped"`
	ReferenceLines []ReferenceLine `json:"reference_lines,omitempty" doc:"horizontal lines"`
}

// ReferenceLine is a horizontal line in a chart.
type ReferenceLine struct {
	Y     *float64 `json:"y" req:"true" doc:"height"`
	Label string   `json:"label,omitempty" doc:"text beside it"`
	Color string   `json:"color,omitempty" default:"#64748b" doc:"CSS colour"`
	Dash  string   `json:"dash,omitempty" alias:"style" default:"dash" doc:"line style"`
}
