package spec

import "time"

// LoadBlock is the native load block.
type LoadBlock struct {
	API    LoadAPI     `json:"api,omitempty" doc:"how requests are put"`
	Data   LoadData    `json:"data,omitempty" doc:"prompts and answers"`
	Stages []LoadStage `json:"stages,omitempty" doc:"spans of load, in order"`
	Search *Search     `json:"search,omitempty" doc:"finds the highest rate that holds"`
}

// LoadAPI is how requests are put.
type LoadAPI struct {
	Type         string            `json:"type,omitempty" is:"requesttype" implied:"chat" doc:"API: completions, chat, responses, embeddings, messages"`
	Path         string            `json:"path,omitempty" is:"abspath" implied:"by type" doc:"URL path"`
	Stream       bool              `json:"stream" default:"true" doc:"ask for a stream of tokens"`
	Headers      map[string]string `json:"headers,omitempty" keys:"header" doc:"extra request headers"`
	Body         Object            `json:"body,omitzero" doc:"merged over the generated body"`
	Timeout      time.Duration     `json:"timeout,omitempty" default:"600s" doc:"limit of one request"`
	VerifyTLS    bool              `json:"verify_tls" default:"true" doc:"check the certificate"`
	APIKeySecret *SecretKey        `json:"api_key_secret,omitempty" doc:"Secret that holds the API key"`
	ExactOutput  bool              `json:"exact_output" default:"true" doc:"force the output length: token limit and ignore_eos"`
}

// SecretKey names one value of a Secret.
type SecretKey struct {
	Name string `json:"name" req:"true" is:"subdomain" doc:"name of the Secret"`
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
	Format    string        `json:"format" req:"true" doc:"format of the file, such as mooncake_trace"`
	URL       string        `json:"url" req:"true" doc:"where the file is: URL or path"`
	SHA256    string        `json:"sha256,omitempty" is:"sha256" doc:"digest of the file"`
	Limit     int           `json:"limit,omitempty" min:"1" doc:"first N non-empty lines"`
	MaxInput  int           `json:"max_input,omitempty" min:"1" unit:"tokens" doc:"longer inputs are dropped"`
	TimeScale float64       `json:"time_scale,omitempty" default:"1" above:"0" doc:"factor on send times"`
	From      time.Duration `json:"from,omitempty" zero:"true" doc:"start of the window"`
	To        time.Duration `json:"to,omitempty" doc:"end of the window"`
}

// LoadStage is a span of load with one shape; a list in concurrency or rate is one stage per value.
type LoadStage struct {
	Name        string        `json:"name,omitempty" doc:"name in reports"`
	Measure     bool          `json:"measure" default:"true" doc:"false = warm-up"`
	Concurrency List[int]     `json:"concurrency,omitempty" min:"1" doc:"closed loop: slots that send again when their request ended"`
	Rate        List[float64] `json:"rate,omitempty" above:"0" unit:"requests/s" doc:"open loop: sends whatever the server does"`
	Schedule    string        `json:"schedule,omitempty" enum:"trace" doc:"send times of the trace"`
	Arrival     string        `json:"arrival,omitempty" enum:"constant|poisson|gamma" implied:"constant" doc:"spacing of an open loop"`
	Burstiness  float64       `json:"burstiness,omitempty" above:"0" implied:"1" doc:"shape of gamma arrivals; 1 = poisson"`
	Ramp        time.Duration `json:"ramp,omitempty" zero:"true" doc:"time over which the load rises"`
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

// Search finds the highest rate that holds.
type Search struct {
	Goodput float64 `json:"goodput" req:"true" above:"0" max:"1" doc:"share of requests that must meet the objectives"`
	Low     float64 `json:"low" req:"true" above:"0" unit:"requests/s" doc:"rate that surely holds"`
	High    float64 `json:"high" req:"true" above:"0" unit:"requests/s" doc:"rate that surely does not"`
}
