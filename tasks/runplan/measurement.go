package runplan

// Measurement is one benchmark against a deployment.
type Measurement struct {
	Hash        string            `json:"hash,omitempty"`
	Name        string            `json:"name"`   // benchmark profile, or "load" for the experiment's own block
	Tool        string            `json:"tool"`   // whose words were translated: native, guidellm, aiperf, inference-perf, vllm-bench
	Runner      string            `json:"runner"` // native, or external: the real tool's image
	API         API               `json:"api"`
	Data        Data              `json:"data"`
	Stages      []Stage           `json:"stages,omitempty"`
	Search      *Search           `json:"search,omitempty"`
	Samples     int               `json:"samples"`
	SamplePause Duration          `json:"samplePause,omitempty"` // between samples, outside every window
	Env         map[string]string `json:"env,omitempty"`
	External    any               `json:"external,omitempty"` // the tool's own block, for runner external
	Labels      map[string]string `json:"labels,omitempty"`   // that the tool's block gives its results; not in the hash
	Notes       []string          `json:"notes,omitempty"`    // what the translation had to say; not in the hash
}

// Runners of a measurement.
const (
	RunnerNative   = "native"
	RunnerExternal = "external" // the image of the tool itself
)

// Types of API that load-gen speaks.
const (
	APICompletions = "completions"
	APIChat        = "chat"
	APIResponses   = "responses"
	APIEmbeddings  = "embeddings"
	APIMessages    = "messages" // of Anthropic
)

// API is how requests are put.
type API struct {
	Type         string            `json:"type"` // one of the types above, or one that only the real tool speaks
	Path         string            `json:"path"`
	Stream       bool              `json:"stream"`
	Headers      map[string]string `json:"headers,omitempty"`
	Body         map[string]any    `json:"body,omitempty"` // merged over the generated body
	Timeout      Duration          `json:"timeout"`        // of one request
	VerifyTLS    bool              `json:"verifyTLS"`
	APIKeySecret *SecretKey        `json:"apiKeySecret,omitempty"`
	ExactOutput  bool              `json:"exactOutput"` // ask with ignore_eos and min_tokens
}

// SecretKey names one value of a Secret.
type SecretKey struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

// Data describes prompts and answers, lengths in tokens.
type Data struct {
	Input         *Length  `json:"input,omitempty"`
	Output        *Length  `json:"output,omitempty"` // nil = the server's default
	FirstInput    *Length  `json:"firstInput,omitempty"`
	FirstOutput   *Length  `json:"firstOutput,omitempty"`
	Prefixes      []Prefix `json:"prefixes,omitempty"`
	Turns         int      `json:"turns"`
	Think         Duration `json:"think,omitempty"`
	Conversations int      `json:"conversations,omitempty"` // distinct ones, a stage ends when they are used up; 0 = endless
	Reuse         bool     `json:"reuse,omitempty"`         // they come again in turn instead: conversation i is i modulo Conversations
	FreshPerStage bool     `json:"freshPerStage"`
	Seed          int64    `json:"seed"`
	Trace         *Trace   `json:"trace,omitempty"`
}

// Length is a distribution of token counts, clamped to [Min, Max] where those are set.
type Length struct {
	Shape string  `json:"shape"` // fixed, normal, uniform, lognormal
	Mean  float64 `json:"mean"`
	Stdev float64 `json:"stdev,omitempty"`
	Min   int     `json:"min,omitempty"`
	Max   int     `json:"max,omitempty"`
}

// Prefix is a bucket of shared prefixes: one of Count fixed texts of Tokens tokens, drawn by Weight.
type Prefix struct {
	Weight float64 `json:"weight"`
	Count  int     `json:"count"`
	Tokens int     `json:"tokens"`
}

// Trace replays a recorded file.
type Trace struct {
	Format    string   `json:"format"`
	URL       string   `json:"url"`
	SHA256    string   `json:"sha256,omitempty"`
	Limit     int      `json:"limit,omitempty"`
	MaxInput  int      `json:"maxInput,omitempty"`  // requests with a longer input are left out
	MaxOutput int      `json:"maxOutput,omitempty"` // longer outputs are cut to it
	TimeScale float64  `json:"timeScale,omitempty"`
	From      Duration `json:"from,omitempty"`
	To        Duration `json:"to,omitempty"`
}

// Load shapes of a stage.
const (
	ShapeClosed     = "closed"     // Concurrency slots, each sends again when its request ended
	ShapeOpen       = "open"       // sends at Rate, whatever the server does
	ShapeThroughput = "throughput" // closed loop at MaxInflight; 0 = everything at once
	ShapeTrace      = "trace"      // recorded send times
)

// Stage is a span of load with one shape. A bound that is zero does not bind; at least one is set.
type Stage struct {
	Name        string     `json:"name"`
	Measure     bool       `json:"measure"`
	Shape       string     `json:"shape"`
	Concurrency int        `json:"concurrency,omitempty"`
	Rate        float64    `json:"rate,omitempty"` // requests per second
	Between     *Between   `json:"between,omitempty"`
	Arrival     string     `json:"arrival,omitempty"` // constant, poisson, gamma; open loop only
	Burstiness  float64    `json:"burstiness,omitempty"`
	Ramp        Duration   `json:"ramp,omitempty"` // time over which the load rises to its value
	Duration    Duration   `json:"duration,omitempty"`
	Requests    int        `json:"requests,omitempty"`
	MaxInflight int        `json:"maxInflight,omitempty"`
	OnFull      string     `json:"onFull,omitempty"` // queue (default) or drop
	SkipFirst   Trim       `json:"skipFirst,omitzero"`
	SkipLast    Trim       `json:"skipLast,omitzero"`
	Stop        []StopRule `json:"stop,omitempty"`
	PauseAfter  Duration   `json:"pauseAfter,omitempty"`
	// Drain bounds the wait for requests still in flight at the end: nil = the request timeout,
	// 0 = they are cut and count as incomplete (what GuideLLM does).
	Drain *Duration `json:"drain,omitempty"`
	// Prefixes replaces Data.Prefixes in this stage, where the file makes them depend on the load value.
	Prefixes []Prefix `json:"prefixes,omitempty"`
}

// Between is a rate found by earlier stages of the same measurement (a sweep):
// low + Fraction * (high - low), low and high being the request rates that those stages reached.
type Between struct {
	Low      int     `json:"low"`  // index of a stage
	High     int     `json:"high"` // index of a stage
	Fraction float64 `json:"fraction"`
}

// Trim is the part at the start or end of a stage that is not measured. At most one field is set.
type Trim struct {
	Share    float64  `json:"share,omitempty"` // of the stage's duration, or of its requests where only those bound it
	Duration Duration `json:"duration,omitempty"`
	Requests int      `json:"requests,omitempty"`
}

// StopRule ends a stage early.
type StopRule struct {
	Kind    string             `json:"kind"`            // max_errors, max_error_rate, max_global_error_rate, over_saturation
	Scope   string             `json:"scope,omitempty"` // current (default) or all: later stages are skipped too
	Numbers map[string]float64 `json:"numbers,omitempty"`
	Mode    string             `json:"mode,omitempty"` // over_saturation: enforce or monitor
}

// Search finds the highest rate that holds.
type Search struct {
	Goodput float64 `json:"goodput"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
}

// SLO holds the objectives, judged per measured stage.
type SLO struct {
	Latency       map[string]map[string]Duration `json:"latency,omitempty"` // ttft|itl|tpot|e2e -> mean|p50|p90|p95|p99 -> limit
	ErrorRate     *float64                       `json:"errorRate,omitempty"`
	MinThroughput *float64                       `json:"minThroughput,omitempty"` // output tokens per second
	Goodput       *Goodput                       `json:"goodput,omitempty"`
	OnBreach      string                         `json:"onBreach"` // report, fail, stop
}

// Goodput is the share of requests that meet every objective.
type Goodput struct {
	Min  float64  `json:"min"`
	TTFT Duration `json:"ttft,omitempty"`
	TPOT Duration `json:"tpot,omitempty"`
	E2E  Duration `json:"e2e,omitempty"`
}
