package spec

import "time"

// LoadBlock is the native load block.
type LoadBlock struct {
	API    LoadAPI     `json:"api,omitempty" doc:"how requests are put"`
	Data   LoadData    `json:"data,omitempty" doc:"prompts and answers"`
	Stages []LoadStage `json:"stages,omitempty" doc:"spans of load, in order"`
	Sweep  *Sweep      `json:"sweep,omitempty" doc:"rates between one request at a time and all the server takes, after stages"`
	Search *Search     `json:"search,omitempty" doc:"finds the highest rate that holds, after stages and sweep"`
	Record *Record     `json:"record,omitempty" doc:"what is kept beside rows and distributions"`
}

// LoadAPI is how requests are put.
type LoadAPI struct {
	Type         string            `json:"type,omitempty" is:"requesttype" implied:"chat" doc:"API: completions, chat, responses, embeddings, messages, triton, tgi"`
	Path         string            `json:"path,omitempty" is:"abspath" implied:"by type" doc:"URL path"`
	Stream       bool              `json:"stream" default:"true" doc:"ask for a stream of tokens"`
	Headers      map[string]string `json:"headers,omitempty" keys:"header" secret:"true" doc:"extra request headers"`
	Body         Object            `json:"body,omitzero" doc:"merged over the generated body"`
	Timeout      time.Duration     `json:"timeout,omitempty" default:"600s" doc:"limit of one request"`
	VerifyTLS    bool              `json:"verify_tls" default:"true" doc:"check the certificate"`
	APIKeySecret *SecretKey        `json:"api_key_secret,omitempty" doc:"Secret that holds the API key"`
	PromptForm   string            `json:"prompt_form,omitempty" enum:"auto|text" implied:"auto" doc:"text = words whatever the API, so that chat and completions are sent the same prompts; auto = token ids where completions take them"`
	ExactOutput  bool              `json:"exact_output" default:"true" doc:"force the output length: token limit and ignore_eos"`

	ConnectTimeout time.Duration `json:"connect_timeout,omitempty" implied:"5s" doc:"limit of one attempt to connect"`
	ReadTimeout    time.Duration `json:"read_timeout,omitempty" implied:"none" doc:"longest silence of an answer"`
	HTTP2          bool          `json:"http2,omitempty" default:"false" doc:"HTTP/2 over TLS"`
	TLS            *TLSFiles     `json:"tls,omitempty" doc:"certificates, as PEM files where the tasks of a run lie: all that speak to the server use them"`
	Retry          *Retry        `json:"retry,omitempty" implied:"none" doc:"puts failed requests again; the wait counts"`
	Cancel         *Cancel       `json:"cancel,omitempty" doc:"clients that go away"`
	Adapters       []Adapter     `json:"adapters,omitempty" doc:"LoRA adapters; a request names one as its model"`
	Priorities     []Priority    `json:"priorities,omitempty" doc:"field priority of the body"`
	SLOHeaders     *SLOHeaders   `json:"slo_headers,omitempty" doc:"objectives sent with every request, and judged by without an slo"`
}

// TLSFiles are PEM files where the tasks that speak to the server run.
type TLSFiles struct {
	CA   string `json:"ca,omitempty" implied:"the system's roots" doc:"certificates to trust"`
	Cert string `json:"cert,omitempty" doc:"certificate of the client"`
	Key  string `json:"key,omitempty" doc:"its key"`
}

// Retry puts requests again that got no answer, 429 or 5xx.
type Retry struct {
	Attempts int           `json:"attempts" req:"true" min:"1" doc:"attempts beside the first"`
	Backoff  time.Duration `json:"backoff,omitempty" zero:"true" implied:"500ms" doc:"wait before the first of them, doubled for each more"`
}

// Cancel closes the connection of a share of the requests.
type Cancel struct {
	Share float64       `json:"share" req:"true" min:"0" max:"1" doc:"share of requests"`
	After time.Duration `json:"after,omitempty" zero:"true" implied:"0s" doc:"time from the send"`
}

// Adapter is a LoRA adapter; a bare word is its name.
type Adapter struct {
	Name   string  `json:"name" req:"true" doc:"name the server knows it by"`
	Weight float64 `json:"weight,omitempty" default:"1" above:"0" doc:"share of requests, relative to the others"`
}

func (Adapter) shorthand() string { return "name" }

// Priority is a priority and how often it is drawn.
type Priority struct {
	Value  int     `json:"value" req:"true" doc:"priority; the server says what is urgent"`
	Weight float64 `json:"weight,omitempty" default:"1" above:"0" doc:"share of requests, relative to the others"`
}

// SLOHeaders sends objectives in request headers.
type SLOHeaders struct {
	TTFT       time.Duration `json:"ttft,omitempty" doc:"time to the first token"`
	TPOT       time.Duration `json:"tpot,omitempty" doc:"time per output token"`
	Unit       string        `json:"unit,omitempty" default:"ms" enum:"ms|s|us" doc:"unit of the numbers sent"`
	TTFTHeader string        `json:"ttft_header,omitempty" implied:"x-slo-ttft-<unit>" doc:"name of the header"`
	TPOTHeader string        `json:"tpot_header,omitempty" implied:"x-slo-tpot-<unit>" doc:"name of the header"`
}

// SecretKey names one value of a Secret.
type SecretKey struct {
	Name string `json:"name" req:"true" is:"secret" doc:"name of the Secret"`
	Key  string `json:"key" req:"true" doc:"key in it"`
}

// LoadData describes prompts and answers.
type LoadData struct {
	Input         *Length       `json:"input,omitempty" doc:"prompt length"`
	Output        *Length       `json:"output,omitempty" doc:"answer length; absent = the server's default"`
	FirstInput    *Length       `json:"first_input,omitempty" doc:"prompt length of turn 1"`
	FirstOutput   *Length       `json:"first_output,omitempty" doc:"answer length of turn 1"`
	Prefixes      []Prefix      `json:"prefixes,omitempty" doc:"buckets of shared prefixes, on top of input, on turn 1"`
	Turns         int           `json:"turns,omitempty" default:"1" min:"1" doc:"turns of a conversation"`
	Think         time.Duration `json:"think,omitempty" zero:"true" doc:"pause before the next turn"`
	Conversations int           `json:"conversations,omitempty" default:"0" min:"0" doc:"distinct conversations; 0 = endless"`
	FreshPerStage bool          `json:"fresh_per_stage" default:"true" doc:"new content in every stage"`
	Seed          int64         `json:"seed" default:"42" doc:"seed of the content"`
	Trace         *Trace        `json:"trace,omitempty" doc:"replays a recorded file; excludes the other keys"`
	File          *File         `json:"file,omitempty" doc:"prompts of a file instead of made-up ones"`
	Images        *Images       `json:"images,omitempty" doc:"random images in the first turn; type chat only"`
}

// File is a set of prompts.
type File struct {
	Format       string `json:"format,omitempty" enum:"text|csv|jsonl|parquet|sharegpt" implied:"by the name's ending" doc:"text = a prompt per line; csv with a header; jsonl = an object per line; sharegpt = a list of conversations"`
	URL          string `json:"url" req:"true" secret:"true" doc:"https URL, or path where the load is made"`
	SHA256       string `json:"sha256,omitempty" is:"sha256" doc:"digest of the file"`
	PromptColumn string `json:"prompt_column,omitempty" implied:"the first of prompt, text, input, question" doc:"column of the prompts"`
	OutputColumn string `json:"output_column,omitempty" implied:"output_tokens or output_length, if there" doc:"column of the tokens to ask for"`
	Limit        int    `json:"limit,omitempty" min:"1" doc:"first N rows"`
	Shuffle      bool   `json:"shuffle,omitempty" default:"false" doc:"in an order drawn by seed"`
}

// Images are random PNG images, inline.
type Images struct {
	Count  int `json:"count,omitempty" default:"1" min:"1" doc:"per request"`
	Width  int `json:"width" req:"true" min:"1" unit:"pixels" doc:"width"`
	Height int `json:"height" req:"true" min:"1" unit:"pixels" doc:"height"`
}

// Length is a distribution of token counts; a bare number is its mean, fixed.
type Length struct {
	Mean  float64 `json:"mean" req:"true" above:"0" unit:"tokens" doc:"mean"`
	Stdev float64 `json:"stdev,omitempty" min:"0" unit:"tokens" doc:"standard deviation"`
	Min   *int    `json:"min,omitempty" min:"0" unit:"tokens" doc:"smallest value"`
	Max   *int    `json:"max,omitempty" min:"1" unit:"tokens" doc:"largest value"`
	Shape string  `json:"shape,omitempty" enum:"normal|uniform|lognormal|fixed" implied:"normal with stdev, uniform with bounds, else fixed" doc:"distribution"`
}

func (Length) shorthand() string { return "mean" }

// Prefix is a bucket of shared prefixes: one of Count fixed texts of Tokens tokens, drawn by Weight.
type Prefix struct {
	Weight float64 `json:"weight,omitempty" default:"1" above:"0" doc:"share of conversations, relative to the other buckets"`
	Count  Count   `json:"count,omitzero" default:"1" doc:"different texts: a number or N*concurrency"`
	Tokens int     `json:"tokens" req:"true" min:"0" unit:"tokens" doc:"length of each"`
}

// Trace replays a recorded file.
type Trace struct {
	Format    string        `json:"format" req:"true" enum:"mooncake|azure|jsonl|trace_synthetic" words:"mooncake_trace=mooncake" doc:"mooncake, jsonl: JSON lines, times in ms; azure: CSV; trace_synthetic: JSON lines, times in s"`
	URL       string        `json:"url" req:"true" secret:"true" doc:"where the file is: URL or path"`
	SHA256    string        `json:"sha256,omitempty" is:"sha256" doc:"digest of the file"`
	Limit     int           `json:"limit,omitempty" min:"1" doc:"first N non-empty lines"`
	MaxInput  int           `json:"max_input,omitempty" min:"1" unit:"tokens" doc:"longer inputs are dropped"`
	MaxOutput int           `json:"max_output,omitempty" min:"1" unit:"tokens" doc:"longer outputs are cut to it"`
	TimeScale float64       `json:"time_scale,omitempty" default:"1" above:"0" doc:"factor on send times"`
	From      time.Duration `json:"from,omitempty" zero:"true" doc:"start of the window"`
	To        time.Duration `json:"to,omitempty" doc:"end of the window"`
	Turns     string        `json:"turns,omitempty" enum:"timestamp|idle_gap" implied:"timestamp" doc:"a later turn: at its recorded time, or so long after the turn before as was recorded"`
	Repeat    int           `json:"repeat,omitempty" default:"1" min:"1" doc:"times that the trace is played"`
}

// LoadStage is a span of load with one shape; a list in concurrency or rate is one stage per value.
type LoadStage struct {
	Name        string        `json:"name,omitempty" doc:"name in reports"`
	Measure     bool          `json:"measure" default:"true" doc:"false = warm-up"`
	Concurrency List[int]     `json:"concurrency,omitempty" min:"1" doc:"closed loop: slots that send again when their request ended"`
	Rate        List[float64] `json:"rate,omitempty" above:"0" unit:"requests/s" doc:"open loop: sends whatever the server does"`
	Schedule    string        `json:"schedule,omitempty" enum:"trace" doc:"send times of the trace"`
	Throughput  bool          `json:"throughput,omitempty" default:"false" doc:"as much as the server takes: closed loop at max_inflight, everything at once without"`
	Synchronous bool          `json:"synchronous,omitempty" default:"false" doc:"one request at a time: concurrency 1"`
	Arrival     string        `json:"arrival,omitempty" enum:"constant|poisson|gamma" implied:"constant" doc:"spacing of an open loop"`
	Burstiness  float64       `json:"burstiness,omitempty" above:"0" implied:"1" doc:"shape of gamma arrivals; 1 = poisson"`
	Ramp        Ramp          `json:"ramp,omitzero" doc:"time over which the load rises, or how it does"`
	SlotPer     string        `json:"slot_per,omitempty" enum:"session|request" implied:"session" doc:"closed loop: whether a conversation keeps its slot while it thinks"`
	Duration    time.Duration `json:"duration,omitempty" doc:"bound on time"`
	Requests    Count         `json:"requests,omitzero" doc:"bound on requests: a number or N*concurrency"`
	MaxInflight Count         `json:"max_inflight,omitzero" doc:"cap on requests in flight: a number or N*concurrency"`
	OnFull      string        `json:"on_full,omitempty" enum:"queue|drop" implied:"queue" doc:"what happens at the cap"`
	SkipFirst   Skip          `json:"skip_first,omitzero" doc:"unmeasured start: below 1 a share, else seconds, or {percent, value, mode}"`
	SkipLast    Skip          `json:"skip_last,omitzero" doc:"unmeasured end, as skip_first"`
	Stop        []StopRule    `json:"stop,omitempty" doc:"rules that end the stage early"`
	PauseAfter  time.Duration `json:"pause_after,omitempty" zero:"true" doc:"pause before the next stage"`
}

// StopRule ends a stage early. Which fields count depends on Kind; nil means the kind's default.
type StopRule struct {
	Kind               string   `json:"kind" req:"true" enum:"max_duration|max_requests|max_errors|max_error_rate|max_global_error_rate|over_saturation" doc:"kind of rule"`
	Scope              string   `json:"stopping_scope,omitempty" enum:"current|all" default:"current" doc:"all = later stages are skipped too"`
	Seconds            *float64 `json:"seconds,omitempty" above:"0" unit:"s" doc:"max_duration"`
	Count              Count    `json:"count,omitzero" doc:"max_requests, max_errors"`
	Rate               *float64 `json:"rate,omitempty" min:"0" max:"1" doc:"max_error_rate, max_global_error_rate"`
	Window             *int     `json:"window,omitempty" min:"1" implied:"30" doc:"max_error_rate: last requests looked at"`
	Minimum            *int     `json:"minimum,omitempty" min:"1" implied:"30" doc:"max_global_error_rate: requests before it judges"`
	Mode               string   `json:"mode,omitempty" enum:"enforce|monitor" doc:"over_saturation: stop, or only note"`
	MinSeconds         *float64 `json:"min_seconds,omitempty" min:"0" implied:"30" unit:"s" doc:"over_saturation: before it judges"`
	MaxWindowSeconds   *float64 `json:"max_window_seconds,omitempty" above:"0" implied:"120" unit:"s" doc:"over_saturation"`
	MOEThreshold       *float64 `json:"moe_threshold,omitempty" above:"0" implied:"2" doc:"over_saturation: margin of error"`
	MinimumTTFT        *float64 `json:"minimum_ttft,omitempty" min:"0" implied:"2.5" unit:"s" doc:"over_saturation"`
	MaximumWindowRatio *float64 `json:"maximum_window_ratio,omitempty" above:"0" max:"1" implied:"0.75" doc:"over_saturation"`
	MinimumWindowSize  *int     `json:"minimum_window_size,omitempty" min:"1" implied:"5" doc:"over_saturation"`
	Confidence         *float64 `json:"confidence,omitempty" above:"0" max:"1" implied:"0.95" doc:"over_saturation"`
}

// Ramp is how the load of a stage rises to its value; a bare duration is Over.
type Ramp struct {
	Over  time.Duration `json:"over,omitempty" req:"true" zero:"true" doc:"time it takes"`
	From  float64       `json:"from,omitempty" min:"0" unit:"requests/s" doc:"rate at the start; exponential needs one above 0"`
	Shape string        `json:"shape,omitempty" enum:"linear|exponential|steps" implied:"linear" doc:"shape of a rising rate"`
	Steps int           `json:"steps,omitempty" min:"1" doc:"steps: how many, of equal length"`
}

func (Ramp) shorthand() string { return "over" }

// Sweep measures the rates between one request at a time and all the server takes.
type Sweep struct {
	Points      int           `json:"points,omitempty" default:"10" min:"3" doc:"stages: the two ends, and rates evenly between them"`
	Arrival     string        `json:"arrival,omitempty" enum:"constant|poisson" implied:"constant" doc:"spacing of requests between the ends"`
	MaxInflight int           `json:"max_inflight,omitempty" default:"512" min:"1" doc:"cap on requests in flight"`
	Duration    time.Duration `json:"duration,omitempty" doc:"bound of every stage on time"`
	Requests    int           `json:"requests,omitempty" min:"1" doc:"bound of every stage on requests"`
	Knee        int           `json:"knee,omitempty" default:"0" min:"0" doc:"further stages where the server stops keeping up"`
	PauseAfter  time.Duration `json:"pause_after,omitempty" zero:"true" doc:"pause after every stage"`
}

// Record says what is kept.
type Record struct {
	Gaps    bool          `json:"gaps,omitempty" default:"false" doc:"every gap between tokens, in the rows"`
	Texts   int           `json:"texts,omitempty" min:"0" doc:"prompts and answers of so many requests per stage"`
	Slice   time.Duration `json:"slice,omitempty" doc:"length of time slices with distributions of their own"`
	Parquet bool          `json:"parquet,omitempty" default:"false" doc:"rows as Parquet too"`
}

// Search finds the highest load that holds.
type Search struct {
	Goodput float64 `json:"goodput" req:"true" above:"0" max:"1" doc:"share of requests that must meet the objectives"`
	Low     float64 `json:"low" req:"true" above:"0" unit:"requests/s or slots" doc:"load that surely holds"`
	High    float64 `json:"high" req:"true" above:"0" unit:"requests/s or slots" doc:"load that surely does not"`

	Over      string       `json:"over,omitempty" enum:"rate|concurrency" implied:"rate" doc:"what it varies"`
	Tolerance float64      `json:"tolerance,omitempty" above:"0" max:"1" implied:"0.05" doc:"relative width of the bracket at which it ends"`
	Repeats   int          `json:"repeats,omitempty" min:"1" implied:"1" doc:"measurements of the answer and its neighbours at the end"`
	Level     *SearchLevel `json:"level,omitempty" implied:"30s, poisson, 5s skipped" doc:"bounds and arrivals of each level"`
}

// SearchLevel is a stage of a search; it has no load value of its own.
type SearchLevel struct {
	Arrival     string        `json:"arrival,omitempty" enum:"constant|poisson|gamma" implied:"poisson" doc:"spacing of an open loop"`
	Burstiness  float64       `json:"burstiness,omitempty" above:"0" implied:"1" doc:"shape of gamma arrivals; 1 = poisson"`
	Ramp        Ramp          `json:"ramp,omitzero" doc:"time over which the load rises, or how it does"`
	SlotPer     string        `json:"slot_per,omitempty" enum:"session|request" implied:"session" doc:"over concurrency: whether a conversation keeps its slot while it thinks"`
	Duration    time.Duration `json:"duration,omitempty" doc:"bound on time"`
	Requests    int           `json:"requests,omitempty" min:"1" doc:"bound on requests"`
	MaxInflight int           `json:"max_inflight,omitempty" min:"1" doc:"over rate: cap on requests in flight"`
	OnFull      string        `json:"on_full,omitempty" enum:"queue|drop" implied:"queue" doc:"what happens at the cap"`
	SkipFirst   Skip          `json:"skip_first,omitzero" doc:"unmeasured start: below 1 a share, else seconds, or {percent, value, mode}"`
	SkipLast    Skip          `json:"skip_last,omitzero" doc:"unmeasured end, as skip_first"`
	Stop        []StopRule    `json:"stop,omitempty" doc:"rules that end a level early"`
	PauseAfter  time.Duration `json:"pause_after,omitempty" zero:"true" doc:"pause before the next level"`
}
