package inferenceperf

import (
	"encoding/json"
	"strconv"

	"bflow.dev/bflow/report"
)

// The structs of this file are those of the files of the tool, read and written. Their members stand in the order in
// which they are written; a reader takes those that are marked as needed. A pointer that is left out where it is nil is
// of a member that not every file has.

// lifecycle is a summary or the file of a stage.
type lifecycle struct {
	Time             *float64  `json:"benchmark_time_seconds" need:"yes"`
	ExportedBy       string    `json:"exported_by,omitempty"` // it and the source of the tokens are ours alone
	Failures         failures  `json:"failures"`
	Load             load      `json:"load_summary"`
	Successes        successes `json:"successes"`
	TokenCountSource *string   `json:"token_count_source,omitempty"`
	Tool             *string   `json:"tool,omitempty"` // that measured, as its version
	ToolVersion      *string   `json:"tool_version,omitempty"`
}

// load is the load as it was put. Rates and concurrency are those of a stage: a summary has none.
type load struct {
	Achieved     *float64 `json:"achieved_rate,omitempty" need:"yes"`
	Concurrency  **int    `json:"concurrency,omitempty" need:"yes"` // nil = it is left out; a pointer to nil is null
	Count        int      `json:"count" need:"yes"`
	Requested    *float64 `json:"requested_rate,omitempty" need:"yes"`
	Delay        values   `json:"schedule_delay" need:"yes"`
	SendDuration *float64 `json:"send_duration,omitempty" need:"yes"`
}

// concurrency is that of the stage; 0 without one.
func (l *load) concurrency() int {
	if l.Concurrency == nil || *l.Concurrency == nil {
		return 0
	}
	return **l.Concurrency
}

type successes struct {
	Audio           audio           `json:"audio"`
	ClientFallbacks clientFallbacks `json:"client_fallback_requests"`
	Count           int             `json:"count" need:"yes"`
	Goodput         *goodput        `json:"goodput_metrics,omitempty" need:"yes"`
	Image           image           `json:"image"`
	Latency         latency         `json:"latency" need:"yes"`
	OutputLen       values          `json:"output_len" need:"yes"`           // by the tokenizer
	Output          values          `json:"output_tokens" need:"yes"`        // by the server
	PromptLen       *values         `json:"prompt_len,omitempty" need:"yes"` // before 0.7
	Prompt          values          `json:"prompt_tokens" need:"yes"`
	RequestSize     values          `json:"request_size_bytes"`
	Throughput      throughput      `json:"throughput" need:"yes"`
	Mismatches      int             `json:"token_count_mismatches"`
	Video           video           `json:"video"`
}

// audio, image and video are of media in requests. Requests of ours have none.
type audio struct {
	Bytes   json.RawMessage `json:"bytes"`
	Count   json.RawMessage `json:"count"`
	Seconds json.RawMessage `json:"seconds"`
}

type image struct {
	AspectRatio json.RawMessage `json:"aspect_ratio"`
	Bytes       json.RawMessage `json:"bytes"`
	Count       json.RawMessage `json:"count"`
	Pixels      json.RawMessage `json:"pixels"`
}

type video struct {
	AspectRatio json.RawMessage `json:"aspect_ratio"`
	Bytes       json.RawMessage `json:"bytes"`
	Count       json.RawMessage `json:"count"`
	Frames      json.RawMessage `json:"frames"`
	Pixels      json.RawMessage `json:"pixels"`
}

// clientFallbacks are the requests whose tokens the tool counted because the server did not.
type clientFallbacks struct {
	Output int `json:"output"`
	Prompt int `json:"prompt"`
}

// goodput has its share in percent of the requests that ended well.
type goodput struct {
	Good       int      `json:"good_requests"`
	Percentage float64  `json:"goodput_percentage"`
	Requests   *float64 `json:"request_goodput"`
	Tokens     *float64 `json:"token_goodput"`
	Total      int      `json:"total_requests"`
}

// latency has times in s.
type latency struct {
	InterToken         values `json:"inter_token_latency"`
	NormalizedPerToken values `json:"normalized_time_per_output_token"`
	Request            values `json:"request_latency"`
	PerToken           values `json:"time_per_output_token"`
	FirstToken         values `json:"time_to_first_token"`
}

type throughput struct {
	Audios       *float64 `json:"audios_per_sec"`
	Images       *float64 `json:"images_per_sec"`
	InputTokens  *float64 `json:"input_tokens_per_sec"`
	OutputTokens *float64 `json:"output_tokens_per_sec"`
	Requests     *float64 `json:"requests_per_sec"`
	TotalTokens  *float64 `json:"total_tokens_per_sec"`
	Videos       *float64 `json:"videos_per_sec"`
}

type failures struct {
	ByLabel map[string]label `json:"by_label"`
	Count   int              `json:"count" need:"yes"`
	Prompt  values           `json:"prompt_tokens"`
	Latency values           `json:"request_latency"`
}

// label is one kind of failure.
type label struct {
	Count    int       `json:"count" need:"yes"`
	Messages []message `json:"messages"`
}

type message struct {
	Message string `json:"message"`
}

// values are statistics by their names, which a person chooses the percentiles of. A part that is absent is nil, and so
// are the statistics of nothing.
type values map[string]*float64

// Names of statistics that are no percentiles. The 50th of these is named too.
const (
	statMean     = "mean"
	statMin      = "min"
	statMax      = "max"
	statMedian   = "median"
	statTotal    = "total"
	statCached   = "cached"
	statUncached = "uncached"
)

// quantileNames are the tool's names of our quantiles.
func quantileNames() map[string]string {
	return map[string]string{"p0_1": "p0.1", "p1": "p1", "p5": "p5", "p10": "p10", "p25": "p25", "p50": statMedian,
		"p75": "p75", "p90": "p90", "p95": "p95", "p99": "p99", "p99_9": "p99.9"}
}

// percentileName is the tool's name of a percentile.
func percentileName(p float64) string {
	if p == 50 {
		return statMedian
	}
	return "p" + strconv.FormatFloat(p, 'g', -1, 64)
}

// valuesOf turns a metric into statistics, each multiplied by factor.
func valuesOf(m report.Metric, factor float64) values {
	v := values{}
	v.set(statMean, m.Mean*factor)
	if m.Has("min") && m.Has("max") {
		v.set(statMin, m.Min*factor)
		v.set(statMax, m.Max*factor)
	}
	for ours, theirs := range quantileNames() {
		if q, ok := m.Quantiles[ours]; ok {
			v.set(theirs, q*factor)
		}
	}
	return v
}

func (v values) set(name string, x float64) { v[name] = &x }

// setTotals sets the sums of tokens of prompts: of all and of those that came from a cache.
func (v values) setTotals(all, cached float64) {
	v.set(statTotal, all)
	v.set(statCached, cached)
	v.set(statUncached, all-cached)
}

// metric turns statistics into ours; false without a mean. The files say no count: n is that of the successful
// requests.
func (v values) metric(unit string, n int, factor float64) (report.Metric, bool) {
	if v[statMean] == nil || n <= 0 {
		return report.Metric{}, false
	}
	m := report.Metric{Unit: unit, N: int64(n), Mean: *v[statMean] * factor, Quantiles: map[string]float64{}}
	m.Sum = m.Mean * float64(n)
	low, high := v[statMin], v[statMax]
	if low != nil && high != nil {
		m.Min, m.Max = *low*factor, *high*factor
	} else {
		m.Absent = []string{"min", "max"}
	}
	for ours, theirs := range quantileNames() {
		if q := v[theirs]; q != nil {
			m.Quantiles[ours] = *q * factor
		}
	}
	m.LowN = report.LowQuantiles(m.N)
	return m, true
}

func (v values) total() int64 {
	if v[statTotal] == nil {
		return 0
	}
	return int64(min(1e15, max(0, *v[statTotal])))
}

// request is an entry of the list of requests. Its times are s on a monotonic clock. Ours holds no prompt and no
// answer.
type request struct {
	Computed *computed       `json:"computed_metrics,omitempty"` // where they were asked for
	End      *float64        `json:"end_time" need:"yes"`
	Error    *requestError   `json:"error" need:"yes"`
	Info     info            `json:"info"`
	Request  json.RawMessage `json:"request"` // a text
	Response string          `json:"response" need:"yes"`
	Stage    *int            `json:"stage_id,omitempty" need:"yes"`
	Start    *float64        `json:"start_time" need:"yes"`
}

type requestError struct {
	Message string `json:"error_msg"`
	Type    string `json:"error_type"`
}

type info struct {
	Extra        extraInfo       `json:"extra_info"`
	GraphEventID json.RawMessage `json:"graph_event_id"`
	InputTokens  *int            `json:"input_tokens" need:"yes"`
	Labels       json.RawMessage `json:"labels"` // a person's own
	LoRAAdapter  json.RawMessage `json:"lora_adapter"`
	RequestInfo  requestInfo     `json:"request_metrics"`
	Response     responseInfo    `json:"response_metrics"`
	Stage        *int            `json:"stage_id,omitempty" need:"yes"`
}

// extraInfo is free for whoever writes: what it holds here is ours.
type extraInfo struct {
	ExportedBy string  `json:"exported_by,omitempty"`
	ID         *string `json:"request_id,omitempty" need:"yes"`
	Stage      *int    `json:"stage,omitempty" need:"yes"`
	Times      string  `json:"times,omitempty" need:"yes"` // which of the tokens have stamps
}

type requestInfo struct {
	Audio json.RawMessage `json:"audio"`
	Image json.RawMessage `json:"image"`
	Text  textInfo        `json:"text"`
	Video json.RawMessage `json:"video"`
}

type textInfo struct {
	InputTokens *int `json:"input_tokens"`
}

type responseInfo struct {
	ChunkTimes   []float64       `json:"chunk_times" need:"yes"`        // one of each event
	TokenTimes   []float64       `json:"output_token_times" need:"yes"` // equal for the tokens of one event
	OutputTokens *int            `json:"output_tokens" need:"yes"`
	Chunks       json.RawMessage `json:"response_chunks"` // the events as they came
	Usage        usage           `json:"server_usage"`
}

// usage is what the server says that it counted.
type usage struct {
	Completion *int `json:"completion_tokens,omitempty" need:"yes"`
	Prompt     *int `json:"prompt_tokens,omitempty" need:"yes"`
	Total      *int `json:"total_tokens,omitempty"`
}

// computed are the numbers of a request, times in s.
type computed struct {
	InputTokens        *int     `json:"input_tokens,omitempty"`
	NormalizedPerToken *float64 `json:"normalized_time_per_output_token,omitempty"`
	OutputTokens       *int     `json:"output_tokens,omitempty"`
	Request            *float64 `json:"request_latency,omitempty"`
	PerToken           *float64 `json:"time_per_output_token,omitempty"`
	FirstToken         *float64 `json:"time_to_first_token,omitempty"`
}
