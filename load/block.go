package load

import (
	"time"

	"bflow.dev/bflow/load/shape"
)

// NativeBlock is the native load block. Its struct tags drive the decoder, the explanations and the schema of package
// spec of the generator, which lists them; the rules between its fields are Check, and what a plan has of it is
// Translate's.
type NativeBlock struct {
	API    NativeAPI     `json:"api,omitempty" doc:"how requests are sent"`
	Data   NativeData    `json:"data,omitempty" doc:"prompts and outputs"`
	Stages []NativeStage `json:"stages,omitempty" doc:"load stages, run in order"`
	Sweep  *Sweep        `json:"sweep,omitempty" doc:"stages at rates between one request at a time and the highest throughput, run after stages"`
	Search *Search       `json:"search,omitempty" doc:"search for the highest sustainable rate, run after stages and sweep"`
	Record *Record       `json:"record,omitempty" doc:"what to record in addition to rows and distributions"`
}

// NativeAPI is how requests are put.
type NativeAPI struct {
	Type         string            `json:"type,omitempty" is:"requesttype" implied:"chat" doc:"API of the requests: completions, chat, responses, embeddings, messages, triton, tgi"`
	Path         string            `json:"path,omitempty" is:"abspath" implied:"by type" doc:"URL path"`
	Stream       bool              `json:"stream" default:"true" doc:"stream tokens"`
	Headers      map[string]string `json:"headers,omitempty" keys:"header" secret:"true" doc:"extra request headers"`
	Body         Object            `json:"body,omitzero" doc:"fields merged over the generated body"`
	Timeout      time.Duration     `json:"timeout,omitempty" default:"600s" doc:"timeout of one request"`
	VerifyTLS    bool              `json:"verify_tls" default:"true" doc:"verify the server's certificate"`
	APIKeySecret *SecretKey        `json:"api_key_secret,omitempty" doc:"Secret with the API key"`
	PromptForm   string            `json:"prompt_form,omitempty" enum:"auto|text" implied:"auto" doc:"text = words for every API, so that chat and completions send the same prompts; auto = token ids where completions accept them"`
	ExactOutput  bool              `json:"exact_output" default:"true" doc:"force the output length, with a token limit and ignore_eos"`

	ConnectTimeout time.Duration `json:"connect_timeout,omitempty" implied:"5s" doc:"timeout of one connection attempt"`
	ReadTimeout    time.Duration `json:"read_timeout,omitempty" implied:"none" doc:"longest gap between two reads of a response"`
	HTTP2          bool          `json:"http2,omitempty" default:"false" doc:"use HTTP/2 over TLS"`
	TLS            *TLSFiles     `json:"tls,omitempty" doc:"TLS certificates as PEM files in the task pods, used by every task that connects to the server"`
	Retry          *Retry        `json:"retry,omitempty" implied:"none" doc:"retries of failed requests; the backoff counts towards latency"`
	Cancel         *Cancel       `json:"cancel,omitempty" doc:"share of requests that the client cancels"`
	Adapters       []Adapter     `json:"adapters,omitempty" doc:"LoRA adapters; each request names one as its model"`
	Priorities     []Priority    `json:"priorities,omitempty" doc:"values of the field priority in the body"`
	SLOHeaders     *SLOHeaders   `json:"slo_headers,omitempty" doc:"objectives sent as headers with every request; also used to judge the stage if there is no slo"`
}

// TLSFiles are PEM files where the tasks that speak to the server run.
type TLSFiles struct {
	CA   string `json:"ca,omitempty" implied:"the system's roots" doc:"CA certificates to trust"`
	Cert string `json:"cert,omitempty" doc:"client certificate"`
	Key  string `json:"key,omitempty" doc:"private key of the client certificate"`
}

// Retry puts requests again that got no answer, 429 or 5xx.
type Retry struct {
	Attempts int           `json:"attempts" req:"true" min:"1" doc:"retries after the first attempt"`
	Backoff  time.Duration `json:"backoff,omitempty" zero:"true" default:"500ms" doc:"wait before the first retry, doubled for each further one"`
}

// Cancel closes the connection of a share of the requests.
type Cancel struct {
	Share float64       `json:"share" req:"true" min:"0" max:"1" doc:"share of requests"`
	After time.Duration `json:"after,omitempty" zero:"true" implied:"0s" doc:"delay after sending"`
}

// Adapter is a LoRA adapter; a bare word is its name.
type Adapter struct {
	Name   string  `json:"name" req:"true" doc:"name of the adapter on the server"`
	Weight float64 `json:"weight,omitempty" default:"1" above:"0" doc:"relative share of requests"`
}

// Shorthand is the field that a bare scalar sets.
func (Adapter) Shorthand() string { return "name" }

// Priority is a priority and how often it is drawn.
type Priority struct {
	Value  int     `json:"value" req:"true" doc:"priority; the server defines which values are urgent"`
	Weight float64 `json:"weight,omitempty" default:"1" above:"0" doc:"relative share of requests"`
}

// SLOHeaders sends objectives in request headers.
type SLOHeaders struct {
	TTFT       time.Duration `json:"ttft,omitempty" doc:"time to the first token"`
	TPOT       time.Duration `json:"tpot,omitempty" doc:"time per output token"`
	Unit       string        `json:"unit,omitempty" default:"ms" enum:"ms|s|us" doc:"unit of the values in the headers"`
	TTFTHeader string        `json:"ttft_header,omitempty" implied:"x-slo-ttft-<unit>" doc:"name of the TTFT header"`
	TPOTHeader string        `json:"tpot_header,omitempty" implied:"x-slo-tpot-<unit>" doc:"name of the TPOT header"`
}

// SecretKey names one value of a Secret.
type SecretKey struct {
	Name string `json:"name" req:"true" is:"secret" doc:"name of the Secret"`
	Key  string `json:"key" req:"true" is:"secretkey" doc:"key in the Secret"`
}

// NativeData describes prompts and answers.
type NativeData struct {
	Input         *Length       `json:"input,omitempty" doc:"prompt length"`
	Output        *Length       `json:"output,omitempty" doc:"output length; if absent, the server's default applies"`
	FirstInput    *Length       `json:"first_input,omitempty" doc:"prompt length of the first turn"`
	FirstOutput   *Length       `json:"first_output,omitempty" doc:"output length of the first turn"`
	Prefixes      []Prefix      `json:"prefixes,omitempty" doc:"buckets of shared prefixes, added to the input of the first turn"`
	Turns         int           `json:"turns,omitempty" default:"1" min:"1" doc:"turns per conversation"`
	Think         time.Duration `json:"think,omitempty" zero:"true" doc:"think time before the next turn"`
	Conversations int           `json:"conversations,omitempty" default:"0" min:"0" doc:"number of distinct conversations; 0 = unlimited"`
	FreshPerStage bool          `json:"fresh_per_stage" default:"true" doc:"generate new content for every stage"`
	Seed          int64         `json:"seed" default:"42" doc:"random seed of the content"`
	Trace         *Trace        `json:"trace,omitempty" doc:"replay a recorded file; excludes the other keys"`
	File          *File         `json:"file,omitempty" doc:"read prompts from a file instead of generating them"`
	Images        *Images       `json:"images,omitempty" doc:"random images in the first turn; only with type chat"`
}

// File is a set of prompts.
type File struct {
	Format       string `json:"format,omitempty" enum:"text|csv|jsonl|parquet|sharegpt" implied:"by file extension" doc:"text = one prompt per line; csv = CSV with a header; jsonl = one object per line; sharegpt = a list of conversations"`
	URL          string `json:"url" req:"true" secret:"true" doc:"https URL, or a path on the machine of the load generator"`
	SHA256       string `json:"sha256,omitempty" is:"sha256" doc:"digest of the file"`
	PromptColumn string `json:"prompt_column,omitempty" implied:"the first of prompt, text, input, question" doc:"column with the prompts"`
	OutputColumn string `json:"output_column,omitempty" implied:"output_tokens or output_length, if present" doc:"column with the number of output tokens"`
	Limit        int    `json:"limit,omitempty" min:"1" doc:"use only the first N rows"`
	Shuffle      bool   `json:"shuffle,omitempty" default:"false" doc:"shuffle the rows, using seed"`
}

// Images are random PNG images, inline.
type Images struct {
	Count  int `json:"count,omitempty" default:"1" min:"1" doc:"images per request"`
	Width  int `json:"width" req:"true" min:"1" unit:"pixels" doc:"width in pixels"`
	Height int `json:"height" req:"true" min:"1" unit:"pixels" doc:"height in pixels"`
}

// Length is a distribution of token counts; a bare number is its mean, fixed.
type Length struct {
	Mean  float64 `json:"mean" req:"true" above:"0" bare:"integer" unit:"tokens" doc:"mean"`
	Stdev float64 `json:"stdev,omitempty" min:"0" unit:"tokens" doc:"standard deviation"`
	Min   *int    `json:"min,omitempty" min:"0" unit:"tokens" doc:"smallest value"`
	Max   *int    `json:"max,omitempty" min:"1" unit:"tokens" doc:"largest value"`
	Shape string  `json:"shape,omitempty" enum:"normal|uniform|lognormal|fixed" implied:"normal with stdev, uniform with bounds, otherwise fixed" doc:"distribution"`
}

// Shorthand is the field that a bare scalar sets.
func (Length) Shorthand() string { return "mean" }

// Prefix is a bucket of shared prefixes: one of Count fixed texts of Tokens tokens, drawn by Weight.
type Prefix struct {
	Weight float64 `json:"weight,omitempty" default:"1" above:"0" doc:"share of conversations, relative to the other buckets"`
	Count  Count   `json:"count,omitzero" default:"1" doc:"number of distinct prefixes: an integer or N*concurrency"`
	Tokens int     `json:"tokens" req:"true" min:"1" unit:"tokens" doc:"length of each"`
}

// Trace replays a recorded file.
type Trace struct {
	Format    string        `json:"format" req:"true" enum:"mooncake|azure|jsonl|trace_synthetic" words:"mooncake_trace=mooncake" doc:"format of the file. mooncake, jsonl: JSON lines, times in ms; azure: CSV; trace_synthetic: JSON lines, times in s"`
	URL       string        `json:"url" req:"true" secret:"true" doc:"URL or path of the file"`
	SHA256    string        `json:"sha256,omitempty" is:"sha256" doc:"digest of the file"`
	Limit     int           `json:"limit,omitempty" min:"1" doc:"use only the first N non-empty lines"`
	MaxInput  int           `json:"max_input,omitempty" min:"1" unit:"tokens" doc:"drop requests with a longer input"`
	MaxOutput int           `json:"max_output,omitempty" min:"1" unit:"tokens" doc:"truncate longer outputs to this length"`
	TimeScale float64       `json:"time_scale,omitempty" default:"1" above:"0" doc:"factor for all send times"`
	From      time.Duration `json:"from,omitempty" zero:"true" doc:"start of the time window to replay"`
	To        time.Duration `json:"to,omitempty" doc:"end of the time window to replay"`
	Turns     string        `json:"turns,omitempty" enum:"timestamp|idle_gap" implied:"timestamp" doc:"when to send a later turn: at its recorded time, or after the recorded gap since the turn before"`
	Repeat    int           `json:"repeat,omitempty" implied:"1" min:"1" doc:"how many times to replay the trace"`
}

// NativeStage is a span of load with one shape; a list in concurrency or rate is one stage per value.
type NativeStage struct {
	Name    string `json:"name,omitempty" doc:"name of the stage in reports"`
	Measure bool   `json:"measure" default:"true" doc:"false = warm-up, not measured"`
	shape.Choice
	Arrival     string        `json:"arrival,omitempty" enum:"constant|poisson|gamma" implied:"constant" doc:"arrival process of an open loop"`
	Burstiness  float64       `json:"burstiness,omitempty" above:"0" implied:"1" doc:"shape of gamma arrivals; 1 = Poisson"`
	Ramp        Ramp          `json:"ramp,omitzero" doc:"time over which the load ramps up, or the shape of the ramp"`
	SlotPer     string        `json:"slot_per,omitempty" enum:"session|request" implied:"session" doc:"closed loop: whether a conversation keeps its slot during think time"`
	Duration    time.Duration `json:"duration,omitempty" doc:"time limit of the stage"`
	Requests    Count         `json:"requests,omitzero" doc:"request limit of the stage: an integer or N*concurrency"`
	MaxInflight Count         `json:"max_inflight,omitzero" doc:"limit on requests in flight: an integer or N*concurrency"`
	OnFull      string        `json:"on_full,omitempty" enum:"queue|drop" implied:"queue" doc:"what to do when max_inflight is reached"`
	SkipFirst   Skip          `json:"skip_first,omitzero" doc:"unmeasured start of the stage: a share if below 1, otherwise seconds, or {percent, value, mode}"`
	SkipLast    Skip          `json:"skip_last,omitzero" doc:"unmeasured end of the stage, as skip_first"`
	Stop        []StopRule    `json:"stop,omitempty" doc:"rules that end the stage early"`
	PauseAfter  time.Duration `json:"pause_after,omitempty" zero:"true" doc:"pause before the next stage"`
}

// StopRule ends a stage early. Which fields count depends on Kind; nil means the kind's default.
type StopRule struct {
	Kind               string   `json:"kind" req:"true" enum:"max_errors|max_error_rate|max_global_error_rate|over_saturation" instead:"max_duration=set duration on the stage|max_requests=set requests on the stage" doc:"kind of rule"`
	Scope              string   `json:"stopping_scope,omitempty" enum:"current|all" default:"current" doc:"all = also skip the later stages"`
	Count              Count    `json:"count,omitzero" doc:"max_errors"`
	Rate               *float64 `json:"rate,omitempty" min:"0" max:"1" doc:"max_error_rate, max_global_error_rate: limit"`
	Window             *int     `json:"window,omitempty" min:"1" implied:"30" doc:"max_error_rate: number of last requests to look at"`
	Minimum            *int     `json:"minimum,omitempty" min:"1" implied:"30" doc:"max_global_error_rate: requests needed before the rule applies"`
	Mode               string   `json:"mode,omitempty" enum:"enforce|monitor" doc:"over_saturation: stop the stage, or only report it"`
	MinSeconds         *float64 `json:"min_seconds,omitempty" above:"0" implied:"30" unit:"s" doc:"over_saturation: before it judges"`
	MaxWindowSeconds   *float64 `json:"max_window_seconds,omitempty" above:"0" implied:"120" unit:"s" doc:"over_saturation: longest window"`
	MOEThreshold       *float64 `json:"moe_threshold,omitempty" above:"0" implied:"2" doc:"over_saturation: largest margin of error of the slope, as a multiple of the slope"`
	MinimumTTFT        *float64 `json:"minimum_ttft,omitempty" above:"0" implied:"2.5" unit:"s" doc:"over_saturation"`
	MaximumWindowRatio *float64 `json:"maximum_window_ratio,omitempty" above:"0" max:"1" implied:"0.75" doc:"over_saturation: longest window as a share of the elapsed time"`
	MinimumWindowSize  *int     `json:"minimum_window_size,omitempty" min:"1" implied:"5" doc:"over_saturation: data points needed before the rule applies"`
	Confidence         *float64 `json:"confidence,omitempty" above:"0" max:"1" implied:"0.95" doc:"over_saturation: confidence level"`
}

// Ramp is how the load of a stage rises to its value; a bare duration is Over.
type Ramp struct {
	Over  time.Duration `json:"over,omitempty" req:"true" zero:"true" doc:"duration of the ramp"`
	From  float64       `json:"from,omitempty" min:"0" unit:"requests/s" doc:"rate at the start; exponential needs a rate above 0"`
	Shape string        `json:"shape,omitempty" enum:"linear|exponential|steps" implied:"linear" doc:"shape of the ramp"`
	Steps int           `json:"steps,omitempty" min:"1" doc:"shape steps: number of steps of equal length"`
}

// Shorthand is the field that a bare scalar sets.
func (Ramp) Shorthand() string { return "over" }

// Sweep measures the rates between one request at a time and all the server takes.
type Sweep struct {
	Points      int           `json:"points,omitempty" default:"10" min:"3" doc:"number of stages: both ends, and evenly spaced rates between them"`
	Arrival     string        `json:"arrival,omitempty" enum:"constant|poisson" implied:"constant" doc:"arrival process between the two ends"`
	MaxInflight int           `json:"max_inflight,omitempty" default:"512" min:"1" doc:"limit on requests in flight"`
	Duration    time.Duration `json:"duration,omitempty" doc:"time limit of each stage"`
	Requests    int           `json:"requests,omitempty" min:"1" doc:"request limit of each stage"`
	Knee        int           `json:"knee,omitempty" default:"0" min:"0" doc:"additional stages around the rate at which the server saturates"`
	PauseAfter  time.Duration `json:"pause_after,omitempty" zero:"true" doc:"pause after each stage"`
}

// Record says what is kept.
type Record struct {
	Gaps    bool          `json:"gaps,omitempty" default:"false" doc:"record every inter-token gap in the rows"`
	Texts   int           `json:"texts,omitempty" min:"0" doc:"record prompts and outputs of this many requests per stage"`
	Slice   time.Duration `json:"slice,omitempty" doc:"record distributions per time slice of this length"`
	Parquet bool          `json:"parquet,omitempty" default:"false" doc:"also write the rows as Parquet"`
}

// Search finds the highest load that holds.
type Search struct {
	Goodput float64 `json:"goodput" req:"true" above:"0" max:"1" doc:"share of requests that must meet the objectives"`
	Low     float64 `json:"low" req:"true" above:"0" unit:"requests/s or slots" doc:"load that is certainly sustainable"`
	High    float64 `json:"high" req:"true" above:"0" unit:"requests/s or slots" doc:"load that is certainly not sustainable"`

	Over      string       `json:"over,omitempty" enum:"rate|concurrency" implied:"rate" doc:"what the search varies"`
	Tolerance float64      `json:"tolerance,omitempty" above:"0" max:"1" implied:"0.05" doc:"relative width of the bracket at which the search ends"`
	Repeats   int          `json:"repeats,omitempty" min:"1" implied:"1" doc:"final measurements of the result and its neighbours"`
	Level     *SearchLevel `json:"level,omitempty" implied:"30s, poisson, 5s skipped" doc:"limits and arrivals of each level"`
}

// SearchLevel is a stage of a search; it has no load value of its own.
type SearchLevel struct {
	Arrival     string        `json:"arrival,omitempty" enum:"constant|poisson|gamma" implied:"poisson" doc:"arrival process of an open loop"`
	Burstiness  float64       `json:"burstiness,omitempty" above:"0" implied:"1" doc:"shape of gamma arrivals; 1 = Poisson"`
	Ramp        Ramp          `json:"ramp,omitzero" doc:"time over which the load ramps up, or the shape of the ramp"`
	SlotPer     string        `json:"slot_per,omitempty" enum:"session|request" implied:"session" doc:"over concurrency: whether a conversation keeps its slot during think time"`
	Duration    time.Duration `json:"duration,omitempty" doc:"time limit of a level"`
	Requests    int           `json:"requests,omitempty" min:"1" doc:"request limit of a level"`
	MaxInflight int           `json:"max_inflight,omitempty" min:"1" doc:"over rate: limit on requests in flight"`
	OnFull      string        `json:"on_full,omitempty" enum:"queue|drop" implied:"queue" doc:"what to do when max_inflight is reached"`
	SkipFirst   Skip          `json:"skip_first,omitzero" doc:"unmeasured start of a level: a share if below 1, otherwise seconds, or {percent, value, mode}"`
	SkipLast    Skip          `json:"skip_last,omitzero" doc:"unmeasured end of a level, as skip_first"`
	Stop        []StopRule    `json:"stop,omitempty" doc:"rules that end a level early"`
	PauseAfter  time.Duration `json:"pause_after,omitempty" zero:"true" doc:"pause before the next level"`
}
