package report

// RequestsSchema is the first line of requests.jsonl.gz.
const RequestsSchema = "bflow.requests/1"

// Header is the first line of requests.jsonl.gz; rows follow, one per line, in order of TIntended.
type Header struct {
	Schema           string `json:"schema"`
	PlanHash         string `json:"plan_hash"`
	Run              string `json:"run"`
	Attempt          int    `json:"attempt"`
	Measurement      int    `json:"measurement"`
	AnchorUnixNS     int64  `json:"anchor_unix_ns"` // wall time of the zero of all t_* columns
	Tool             string `json:"tool"`
	ToolVersion      string `json:"tool_version"`
	TokenCountSource string `json:"token_count_source"` // usage, usage_sum, token_ids, events, tokenizer, mixed
	Clock            string `json:"clock"`              // which receive stamps latencies use: kernel, user, or mixed
	Interrupted      bool   `json:"interrupted,omitempty"`
}

// Phases of a row.
const (
	PhaseMeasured   = "measured"   // belongs to the window: counted
	PhaseSkipped    = "skipped"    // warm-up or cool-down of a measured stage
	PhaseDrain      = "drain"      // sent after the window so that the load does not sag
	PhaseUnmeasured = "unmeasured" // stage with measure: false
)

// Statuses of a row.
const (
	StatusOK        = "ok"
	StatusFailed    = "failed"
	StatusTimeout   = "timeout"
	StatusCut       = "cut" // in flight when the stage ended
	StatusCancelled = "cancelled"
	StatusDropped   = "dropped" // never sent: the cap on requests in flight was reached
	StatusEmpty     = "empty"   // a 200 without a token
)

// Error classes of a row.
const (
	ErrDial          = "dial"
	ErrTLS           = "tls"
	ErrHTTP4xx       = "http_4xx"
	ErrHTTP429       = "http_429"
	ErrHTTP5xx       = "http_5xx"
	ErrErrorInStream = "error_in_stream"
	ErrTruncated     = "truncated"
	ErrReset         = "reset"
	ErrStall         = "stall"
	ErrDeadline      = "deadline"
	ErrCancelled     = "cancelled"
	ErrBadPayload    = "bad_payload"
	ErrTooLarge      = "too_large" // the answer would take more memory than answers may
)

// Row is one request. Columns t_* are nanoseconds since the header's anchor on the monotonic clock; a pointer is nil
// where the thing did not happen.
type Row struct {
	ID      string `json:"id"` // x-request-id as sent
	Stage   int    `json:"stage"`
	Sample  int    `json:"sample"`
	Session int    `json:"session"`
	Turn    int    `json:"turn"`
	Slot    int    `json:"slot"`
	Phase   string `json:"phase"`

	Status     string `json:"status"`
	ErrorClass string `json:"error_class,omitempty"`
	HTTPStatus int    `json:"http_status,omitempty"`
	Error      string `json:"error,omitempty"` // first 200 bytes, secrets removed

	TIntended  int64  `json:"t_intended_ns"`
	TSend      *int64 `json:"t_send_ns,omitempty"`
	TSent      *int64 `json:"t_sent_ns,omitempty"`
	TFirstByte *int64 `json:"t_first_byte_ns,omitempty"`
	TFirst     *int64 `json:"t_first_ns,omitempty"`
	TContent   *int64 `json:"t_content_ns,omitempty"`
	TLast      *int64 `json:"t_last_ns,omitempty"`
	TEnd       *int64 `json:"t_end_ns,omitempty"`

	QueueWait    int64 `json:"queue_wait_ns"`
	Dial         int64 `json:"dial_ns"`
	ClientLagMax int64 `json:"client_lag_max_ns"`

	TokensInAsked   *int   `json:"tokens_in_asked,omitempty"`
	TokensIn        *int   `json:"tokens_in,omitempty"`
	TokensCached    *int   `json:"tokens_cached,omitempty"`
	TokensOutAsked  *int   `json:"tokens_out_asked,omitempty"`
	TokensOut       *int   `json:"tokens_out,omitempty"`
	TokensReasoning *int   `json:"tokens_reasoning,omitempty"`
	TokensHidden    *int   `json:"tokens_hidden,omitempty"`
	Events          *int   `json:"events,omitempty"`
	TokenSource     string `json:"token_source,omitempty"`

	FinishReason string `json:"finish_reason,omitempty"`
	EndpointPod  string `json:"endpoint_pod,omitempty"`
	BytesOut     int64  `json:"bytes_out"`
	BytesIn      int64  `json:"bytes_in"`
	Conn         int    `json:"conn"`
	ConnReused   bool   `json:"conn_reused"`
	Retries      int    `json:"retries,omitempty"`
	Adapter      string `json:"adapter,omitempty"`

	PrefixBucket *int     `json:"prefix_bucket,omitempty"`
	PrefixIndex  *int     `json:"prefix_index,omitempty"`
	PromptHash   string   `json:"prompt_hash,omitempty"` // 8 bytes hex
	SLOOK        *bool    `json:"slo_ok,omitempty"`
	SLOMissed    []string `json:"slo_missed,omitempty"`

	ITLMean *float64 `json:"itl_mean_ms,omitempty"`
	ITLP50  *float64 `json:"itl_p50_ms,omitempty"`
	ITLP99  *float64 `json:"itl_p99_ms,omitempty"`
	ITLMax  *float64 `json:"itl_max_ms,omitempty"`

	Gaps []int32 `json:"gaps_us,omitempty"` // between token events; only where the plan asks for them
}
