package aiperf

import (
	"encoding/json"

	"bflow.dev/bflow/report/tools"
)

// The structs of this file are those of the artifacts of the tool, read and written. Their members stand in the order
// in which they are written; a reader takes those that are marked as needed. A pointer that is left out where it is nil
// is of a member that not every file has.

// summary is the summary of a run. The tool has members that are not among these: they are neither read nor written.
type summary struct {
	Version          string       `json:"aiperf_version" need:"yes"`
	BenchmarkID      string       `json:"benchmark_id"`
	End              string       `json:"end_time" need:"yes"`
	Errors           []errorCount `json:"error_summary" need:"yes"`
	ExportedBy       string       `json:"exported_by,omitempty"` // it and the source of the tokens are ours alone
	Input            *config      `json:"input_config"`
	Complete         bool         `json:"is_complete"`
	RunInfo          runInfo      `json:"run_info"`
	Schema           string       `json:"schema_version"`
	Start            string       `json:"start_time" need:"yes"`
	TokenCountSource *string      `json:"token_count_source,omitempty"`
	Tool             *string      `json:"tool,omitempty"` // that measured, as its version
	ToolVersion      *string      `json:"tool_version,omitempty"`
	Cancelled        bool         `json:"was_cancelled" need:"yes"`

	Metrics map[string]result `json:"-" free:"yes"` // under the tags of the tool
}

// readSummaryOf reads a summary with its metrics: those of its members that are objects with a unit.
func readSummaryOf(doc tools.Document) (*summary, error) {
	s := &summary{Metrics: map[string]result{}}
	if err := tools.Decode(doc, s); err != nil {
		return nil, err
	}
	members, err := tools.DecodeFree(doc, *s)
	if err != nil {
		return nil, err
	}
	for tag, raw := range members {
		var head struct {
			Unit *json.RawMessage `json:"unit"`
		}
		if json.Unmarshal(raw, &head) != nil || head.Unit == nil {
			continue
		}
		var r result
		if err := tools.Decode(tools.Document{Path: doc.Path + ": " + tag, Data: raw}, &r); err != nil {
			return nil, err
		}
		s.Metrics[tag] = r
	}
	return s, nil
}

// errorCount is how many requests failed in one way.
type errorCount struct {
	Count   int      `json:"count"`
	Details rowError `json:"error_details"`
}

type runInfo struct {
	BenchmarkID string  `json:"benchmark_id"`
	Label       *string `json:"run_label,omitempty"`
	Trial       int     `json:"trial"`
}

// config is the load as it was asked for.
type config struct {
	Datasets []dataset `json:"datasets"`
	Endpoint endpoint  `json:"endpoint"`
	Models   models    `json:"models"`
	Phases   []phase   `json:"phases"`
}

type endpoint struct {
	Streaming    bool     `json:"streaming" need:"yes"`
	Type         string   `json:"type" need:"yes"`
	URLs         []string `json:"urls,omitempty" need:"yes"`
	ServerTokens bool     `json:"use_server_token_count,omitempty" need:"yes"`
}

type models struct {
	Items []model `json:"items"`
}

type model struct {
	Name string `json:"name" need:"yes"`
}

type phase struct {
	Concurrency int     `json:"concurrency,omitempty" need:"yes"`
	Duration    float64 `json:"duration,omitempty" need:"yes"` // s
	Kind        string  `json:"kind" need:"yes"`
	Name        string  `json:"name"`
	Rate        float64 `json:"rate,omitempty" need:"yes"` // requests/s
	Requests    int     `json:"requests,omitempty" need:"yes"`
	Smoothness  float64 `json:"smoothness,omitempty" need:"yes"`
	Type        string  `json:"type" need:"yes"`
}

// dataset is what prompts were made of.
type dataset struct {
	Entries int      `json:"entries"`
	Name    string   `json:"name"`
	Prompts *prompts `json:"prompts,omitempty"`
	Type    string   `json:"type"`
}

type prompts struct {
	Input  *length `json:"isl,omitempty"`
	Output *length `json:"osl,omitempty"`
}

// length is a number of tokens.
type length struct {
	Mean  float64 `json:"mean"`
	Stdev float64 `json:"stddev,omitempty"`
}

// result is a metric of a run: absent parts are left out.
type result struct {
	Unit  string   `json:"unit"`
	Avg   *float64 `json:"avg,omitempty"`
	P1    *float64 `json:"p1,omitempty"`
	P5    *float64 `json:"p5,omitempty"`
	P10   *float64 `json:"p10,omitempty"`
	P25   *float64 `json:"p25,omitempty"`
	P50   *float64 `json:"p50,omitempty"`
	P75   *float64 `json:"p75,omitempty"`
	P90   *float64 `json:"p90,omitempty"`
	P95   *float64 `json:"p95,omitempty"`
	P99   *float64 `json:"p99,omitempty"`
	Min   *float64 `json:"min,omitempty"`
	Max   *float64 `json:"max,omitempty"`
	Std   *float64 `json:"std,omitempty"`
	Count *int64   `json:"count,omitempty"`
	Sum   *float64 `json:"sum,omitempty"`
}

// line is one request. Its stamps are wall time in ns.
type line struct {
	Error    *rowError             `json:"error,omitempty" need:"yes"`
	Metadata metadata              `json:"metadata"`
	Metrics  tools.Members[metric] `json:"metrics" need:"yes"` // sorted by their names
}

type rowError struct {
	Code    int    `json:"code,omitempty"` // of HTTP
	Message string `json:"message"`
	Type    string `json:"type"`
}

type metadata struct {
	AgentDepth        int    `json:"agent_depth"`
	Phase             string `json:"benchmark_phase" need:"yes"`
	CancelledNS       *int64 `json:"cancellation_time_ns,omitempty"`
	ContextOverflow   bool   `json:"context_overflow_skip"`
	Conversation      string `json:"conversation_id" need:"yes"`
	Issued            *int64 `json:"credit_issued_ns" need:"yes"`
	PhaseIndex        int    `json:"phase_index"`
	PhaseKind         string `json:"phase_kind"`
	PhaseName         string `json:"phase_name"`
	ProfilingIndex    int    `json:"profiling_index"`
	RecordProcessorID string `json:"record_processor_id"`
	Ack               *int64 `json:"request_ack_ns,omitempty" need:"yes"`
	End               *int64 `json:"request_end_ns" need:"yes"`
	Start             *int64 `json:"request_start_ns" need:"yes"`
	RootCorrelationID string `json:"root_correlation_id"`
	SessionNum        int    `json:"session_num"`
	Turn              int    `json:"turn_index" need:"yes"`
	Cancelled         bool   `json:"was_cancelled" need:"yes"`
	WorkerID          string `json:"worker_id"`
	CorrelationID     string `json:"x_correlation_id"`
	ID                string `json:"x_request_id" need:"yes"`
}

// metric is a metric of one request: a number or a list of numbers.
type metric struct {
	Unit  string          `json:"unit"`
	Value json.RawMessage `json:"value"`
}

// timeslices are the spans of a run. They are written alone.
type timeslices struct {
	Slices []timeslice `json:"timeslices"`
}

type timeslice struct {
	EndNS                 int64   `json:"end_ns"`
	ErrorRequestCount     *result `json:"error_request_count,omitempty"`
	InterChunkLatency     *result `json:"inter_chunk_latency,omitempty"`
	OutputTokenThroughput *result `json:"output_token_throughput,omitempty"`
	RequestCount          result  `json:"request_count"`
	RequestThroughput     *result `json:"request_throughput,omitempty"`
	StartNS               int64   `json:"start_ns"`
	TimeToFirstToken      *result `json:"time_to_first_token,omitempty"`
	Index                 int     `json:"timeslice_index"`
}
