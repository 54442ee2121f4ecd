package opensearch

import "bflow.dev/bflow/report/tools"

// In every struct the members are in the order of their names, as they are written. Absent numbers are absent.

// requestDoc is one request.
type requestDoc struct {
	ID                    string   `json:"_id,omitempty"` // where it is not in an action of its own
	Completed             bool     `json:"completed"`
	ConnReused            bool     `json:"conn_reused"`
	DialMS                float64  `json:"dial_ms"`
	DocType               string   `json:"doc_type"`
	ErrorClass            string   `json:"error_class,omitempty"`
	Errored               bool     `json:"errored"`
	FinishReason          string   `json:"finish_reason,omitempty"`
	HTTPStatus            int      `json:"http_status,omitempty"`
	IntendedTimestamp     string   `json:"intended_timestamp"`
	GapP50MS              *float64 `json:"itl_gap_p50_ms,omitempty"`
	GapP99MS              *float64 `json:"itl_gap_p99_ms,omitempty"`
	ITLMS                 *float64 `json:"itl_ms,omitempty"`
	JobName               string   `json:"job_name"`
	OutputTokensPerS      *float64 `json:"output_tokens_per_second,omitempty"`
	Pod                   string   `json:"pod,omitempty"`
	QueueWaitMS           float64  `json:"queue_wait_ms"`
	RequestID             string   `json:"request_id"`
	RequestLatencySeconds *float64 `json:"request_latency_seconds,omitempty"`
	Sample                string   `json:"sample"`
	SchedLagMS            *float64 `json:"sched_lag_ms,omitempty"`
	Schema                string   `json:"schema"`
	SLOOK                 *bool    `json:"slo_ok,omitempty"`
	StageIndex            int      `json:"stage_index"`
	Status                string   `json:"status"`
	Timestamp             string   `json:"timestamp"`
	TokensCached          *int     `json:"tokens_cached,omitempty"`
	TokensIn              *int     `json:"tokens_in,omitempty"`
	TokensOut             *int     `json:"tokens_out,omitempty"`
	TokensPerS            *float64 `json:"tokens_per_second,omitempty"`
	TPOTExclFirstMS       *float64 `json:"tpot_excl_first_ms,omitempty"`
	TPOTInclMS            *float64 `json:"tpot_incl_ms,omitempty"`
	TPOTMS                *float64 `json:"tpot_ms,omitempty"`
	TTFCMS                *float64 `json:"ttfc_ms,omitempty"`
	TTFTIntendedMS        *float64 `json:"ttft_intended_ms,omitempty"`
	TTFTMS                *float64 `json:"ttft_ms,omitempty"`
	UUID                  string   `json:"uuid"`
}

// summaryDoc is one measured stage of one sample. Its latencies and rates are in parts, each a member: "ttft_p95_ms".
type summaryDoc struct {
	ID               string   `json:"_id,omitempty"`
	Attempt          int      `json:"attempt"`
	Model            string   `json:"backend_model"`
	Concurrency      int      `json:"concurrency"`
	DocType          string   `json:"doc_type"`
	Engine           string   `json:"engine,omitempty"`
	ErrorRate        *float64 `json:"error_rate,omitempty"`
	Errored          int      `json:"errored_requests"`
	ExportedBy       string   `json:"exported_by"`
	Goodput          *float64 `json:"goodput_rps,omitempty"`
	GPU              *string  `json:"gpu,omitempty"`
	GPUs             int      `json:"gpus,omitempty"`
	Harness          string   `json:"harness"`
	HarnessVersion   string   `json:"harness_version,omitempty"`
	Incomplete       int      `json:"incomplete_requests"`
	InvalidReasons   []string `json:"invalid_reasons"`
	JobName          string   `json:"job_name"`
	OutputTokens     string   `json:"output_tokens,omitempty"` // asked for, as text: dashboards have it so
	PlanHash         *string  `json:"plan_hash,omitempty"`
	PromptTokens     string   `json:"prompt_tokens,omitempty"`
	Rate             int      `json:"rate"`
	RateRPS          float64  `json:"rate_rps"`
	Sample           string   `json:"sample"`
	SampleIndex      int      `json:"sample_index"`
	Schema           string   `json:"schema"`
	Attainment       *float64 `json:"slo_attainment,omitempty"`
	Stage            string   `json:"stage"`
	StageIndex       int      `json:"stage_index"`
	Strategy         string   `json:"strategy"`
	Successful       int      `json:"successful_requests"`
	Timestamp        string   `json:"timestamp"`
	TokenCountSource string   `json:"token_count_source"`
	TokensInMean     *float64 `json:"tokens_in_mean,omitempty"`
	TokensOutMean    *float64 `json:"tokens_out_mean,omitempty"`
	Total            int      `json:"total_requests"`
	UUID             string   `json:"uuid"`
	Valid            bool     `json:"valid"`
	Verdict          string   `json:"verdict"`

	Parts map[string]float64 `json:"-" free:"yes"`
}

// action says in the body of a _bulk request what the next line is.
type action struct {
	Index actionOf `json:"index"`
}

type actionOf struct {
	ID string `json:"_id"`
}

// document is a summary or a request.
type document interface{ setID(id string) }

func (d *requestDoc) setID(id string) { d.ID = id }
func (d *summaryDoc) setID(id string) { d.ID = id }

var (
	_ document = (*requestDoc)(nil)
	_ document = (*summaryDoc)(nil)
)

// indexTemplate is the body of a request that makes an index template.
type indexTemplate struct {
	Meta     templateMeta `json:"_meta"`
	Patterns []string     `json:"index_patterns"`
	Priority int          `json:"priority"`
	Template struct {
		Mappings mappings `json:"mappings"`
	} `json:"template"`
}

type templateMeta struct {
	ExportedBy string `json:"exported_by"`
	Schema     string `json:"schema"`
}

type mappings struct {
	Dynamic    []map[string]dynamicMapping `json:"dynamic_templates"` // one entry each: its name
	Properties map[string]property         `json:"properties"`
}

type dynamicMapping struct {
	Mapping property `json:"mapping"`
	Match   string   `json:"match_mapping_type"`
}

type property struct {
	IgnoreAbove int    `json:"ignore_above,omitempty"`
	Type        string `json:"type"`
}

// meta marks what bflow wrote.
func meta() templateMeta { return templateMeta{ExportedBy: tools.ExportedBy, Schema: Schema} }
