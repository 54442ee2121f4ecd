package runplan

// Measurement is one benchmark against a deployment.
type Measurement struct {
	Hash string `json:"hash,omitempty"`
	Name string `json:"name"` // benchmark profile, or "load" for the experiment's own block
	// whose words were translated: native, guidellm, aiperf, inference-perf, vllm-bench, inferencemax
	Tool        string            `json:"tool"`
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
	Record      *Record           `json:"record,omitempty"`   // nil = rows without gaps and texts; not in the hash
	// virtual environment of the real tool, for runner external on this host; not in the hash
	Venv string `json:"venv,omitempty"`
	// where loads of one deployment are judged by different ones; see RunPlan.Objectives; not in the hash
	SLO *SLO `json:"slo,omitempty"`
}

// Record says what is kept beside rows and distributions.
type Record struct {
	Gaps    bool     `json:"gaps,omitempty"`    // every gap between token events, in the rows
	Texts   int      `json:"texts,omitempty"`   // prompts and answers of so many requests per stage
	Slice   Duration `json:"slice,omitempty"`   // length of a time slice with distributions of its own; 0 = none
	Parquet bool     `json:"parquet,omitempty"` // rows as requests.parquet too
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
	APITriton      = "triton"   // generate and generate_stream of Triton
	APITGI         = "tgi"      // generate and generate_stream of Text Generation Inference
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
	ExactOutput  bool              `json:"exactOutput"`          // ask with ignore_eos and min_tokens
	PromptForm   string            `json:"promptForm,omitempty"` // PromptText, or as the API takes prompts best

	ConnectTimeout Duration  `json:"connectTimeout,omitempty"` // of one attempt to connect; 0 = 5 s
	ReadTimeout    Duration  `json:"readTimeout,omitempty"`    // longest silence of an answer; 0 = Timeout alone bounds it
	HTTP2          bool      `json:"http2,omitempty"`          // over TLS, by ALPN
	TLS            *TLSFiles `json:"tls,omitempty"`
	Retry          *Retry    `json:"retry,omitempty"`    // nil = a request that failed is not put again
	Cancel         *Cancel   `json:"cancel,omitempty"`   // clients that go away
	Adapters       []Adapter `json:"adapters,omitempty"` // a request draws one by weight and names it as its model
	Priorities     []Weight  `json:"priorities,omitempty"`
}

// TLSFiles are paths of PEM files where the tasks that speak to the server run.
type TLSFiles struct {
	CA   string `json:"ca,omitempty"`   // replaces the system's roots
	Cert string `json:"cert,omitempty"` // of the client, with Key
	Key  string `json:"key,omitempty"`
}

// Retry puts a request again that could not connect, was reset before its first byte, or got 429 or 5xx.
// Its latencies from the intended send hold every attempt.
type Retry struct {
	Attempts int      `json:"attempts"` // beside the first
	Backoff  Duration `json:"backoff"`  // before the first repetition, doubled for each more
}

// Cancel closes the connection of a share of the requests some time after their send.
type Cancel struct {
	Share float64  `json:"share"`
	After Duration `json:"after"`
}

// Adapter is a LoRA adapter that the server knows by Name.
type Adapter struct {
	Name   string  `json:"name"`
	Weight float64 `json:"weight"`
}

// PromptText says that prompts are text whatever the API, so that chat and completions are sent the same words. Their
// length is then that of the text: what a server puts around it comes on top.
const PromptText = "text"

// Weight is a priority (field priority of the body) and how often it is drawn.
type Weight struct {
	Value  int     `json:"value"`
	Weight float64 `json:"weight"`
}

// SecretKey names one value of a Secret.
type SecretKey struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

// Data describes prompts and answers, lengths in tokens.
type Data struct {
	Input       *Length  `json:"input,omitempty"`
	Output      *Length  `json:"output,omitempty"` // nil = the server's default
	FirstInput  *Length  `json:"firstInput,omitempty"`
	FirstOutput *Length  `json:"firstOutput,omitempty"`
	Prefixes    []Prefix `json:"prefixes,omitempty"`
	Turns       int      `json:"turns"`
	Think       Duration `json:"think,omitempty"`
	// distinct ones, a stage ends when they are used up; 0 = endless
	Conversations int `json:"conversations,omitempty"`
	// they come again in turn instead: conversation i is i modulo Conversations
	Reuse         bool    `json:"reuse,omitempty"`
	FreshPerStage bool    `json:"freshPerStage"`
	Seed          int64   `json:"seed"`
	Trace         *Trace  `json:"trace,omitempty"`
	File          *File   `json:"file,omitempty"`   // prompts instead of synthetic ones
	Images        *Images `json:"images,omitempty"` // parts of the first turn; chat only
}

// Formats of a file of prompts.
const (
	FileText     = "text"     // one prompt per line
	FileCSV      = "csv"      // with a header line
	FileJSONL    = "jsonl"    // one object per line
	FileParquet  = "parquet"  // columns of text and integers
	FileShareGPT = "sharegpt" // a list of conversations[{from, value}]
)

// File is a set of prompts. Its length in tokens is what the server counts; Data.Output bounds the answers of those
// whose row names no length.
type File struct {
	Format string `json:"format"`
	URL    string `json:"url"` // https://, or a path where load-gen runs
	SHA256 string `json:"sha256,omitempty"`
	// default: the first of prompt, text, input, question that is there
	PromptColumn string `json:"promptColumn,omitempty"`
	// tokens to ask for; default: output_tokens, output_length where one is there
	OutputColumn string `json:"outputColumn,omitempty"`
	Limit        int    `json:"limit,omitempty"`   // first rows that are used
	Shuffle      bool   `json:"shuffle,omitempty"` // by Data.Seed
}

// Images are random images, PNG, inline as data URLs.
type Images struct {
	Count  int `json:"count"` // per request
	Width  int `json:"width"`
	Height int `json:"height"`
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
	Turns     string   `json:"turns,omitempty"`  // when a later turn is sent: TurnsRecorded (default) or TurnsIdle
	Repeat    int      `json:"repeat,omitempty"` // times that the trace is played, one after the other; 0 = once
}

// Formats of a trace.
const (
	TraceMooncake  = "mooncake"        // JSON lines, timestamp in ms, hash_ids of 512-token blocks
	TraceAzure     = "azure"           // CSV: TIMESTAMP, ContextTokens, GeneratedTokens
	TraceJSONL     = "jsonl"           // JSON lines, timestamp in ms, input_length and output_length
	TraceSynthetic = "trace_synthetic" // of GuideLLM: JSON lines, timestamp in s
)

// Rules for the turns of a recorded session.
const (
	TurnsRecorded = "timestamp" // at the recorded time, not before the turn before has ended
	TurnsIdle     = "idle_gap"  // so long after the end of the turn before as was recorded between them
)

// Load shapes of a stage. Package load/shape says what each is.
const (
	ShapeClosed     = "closed"     // Concurrency slots, each sends again when its request ended
	ShapeOpen       = "open"       // sends at Rate, whatever the server does
	ShapeThroughput = "throughput" // closed loop at MaxInflight; 0 = everything at once
	ShapeTrace      = "trace"      // recorded send times
)

// Uncapped is how many requests a throughput stage without a cap or a request bound keeps in flight.
const Uncapped = 512

// Stage is a span of load with one shape. A bound that is zero does not bind; at least one is set.
type Stage struct {
	Name        string   `json:"name"`
	Measure     bool     `json:"measure"`
	Shape       string   `json:"shape"`
	Concurrency int      `json:"concurrency,omitempty"`
	Rate        float64  `json:"rate,omitempty"` // requests per second
	Between     *Between `json:"between,omitempty"`
	Arrival     string   `json:"arrival,omitempty"` // constant, poisson, gamma; open loop only
	Burstiness  float64  `json:"burstiness,omitempty"`
	Ramp        Duration `json:"ramp,omitempty"`      // time over which the load rises to its value
	RampShape   string   `json:"rampShape,omitempty"` // of a rate: linear (default), exponential, steps
	RampFrom    float64  `json:"rampFrom,omitempty"`  // rate at the start of the ramp; exponential needs it above 0
	RampSteps   int      `json:"rampSteps,omitempty"` // of equal length, for steps
	// closed loop: session (default) or request: who holds a slot while a conversation thinks
	SlotPer     string     `json:"slotPer,omitempty"`
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
	// Numbers are those of a shape for which the fields above have no room.
	Numbers map[string]float64 `json:"numbers,omitempty"`
}

// MaxTries is how often a stage is measured at most where an invalid one is measured again (execution.on_invalid:
// retry).
const MaxTries = 3

// Between is a rate found by earlier stages of the same measurement (a sweep):
// low + Fraction * (high - low), low and high being the request rates that those stages reached.
type Between struct {
	Low      int     `json:"low"`  // index of a stage
	High     int     `json:"high"` // index of a stage
	Fraction float64 `json:"fraction"`
	// Knee moves the rate to where the stages from Low to High stopped keeping up: Fraction is then the place
	// between the last of them whose achieved request rate was within 5 % of the offered one and the next; between the
	// last two where all kept up.
	Knee bool `json:"knee,omitempty"`
}

// Trim is the part at the start or end of a stage that is not measured. At most one field is set.
type Trim struct {
	Share    float64  `json:"share,omitempty"` // of the stage's duration, or of its requests where only those bound it
	Duration Duration `json:"duration,omitempty"`
	Requests int      `json:"requests,omitempty"`
}

// StopRule ends a stage early.
type StopRule struct {
	// max_errors, max_error_rate, max_global_error_rate, over_saturation
	Kind    string             `json:"kind"`
	Scope   string             `json:"scope,omitempty"` // current (default) or all: later stages are skipped too
	Numbers map[string]float64 `json:"numbers,omitempty"`
	Mode    string             `json:"mode,omitempty"` // over_saturation: enforce or monitor
}

// Search finds the highest rate that holds.
type Search struct {
	Goodput   float64 `json:"goodput"` // share of good requests that a level must reach
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
	Over      string  `json:"over,omitempty"`      // SearchRate (default) or SearchConcurrency
	Tolerance float64 `json:"tolerance,omitempty"` // relative width of the bracket at which it ends; 0 = 0.05
	Repeats   int     `json:"repeats,omitempty"`   // measurements of the answer and its neighbours at the end; 0 = 1
	Level     *Stage  `json:"level,omitempty"`     // bounds and arrivals of each level; nil = 30 s, poisson, warm-up 5 s
}

// What a search varies.
const (
	SearchRate        = "rate"
	SearchConcurrency = "concurrency"
)

// SLO holds the objectives, judged per measured stage.
type SLO struct {
	// ttft|itl|tpot|e2e -> mean|p50|p90|p95|p99 -> limit
	Latency       map[string]map[string]Duration `json:"latency,omitempty"`
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

// Objectives are what measurement i is judged by: its own, where the loads of a deployment differ in theirs, else those
// of the plan; nil where there are none.
func (p *RunPlan) Objectives(i int) *SLO {
	if i >= 0 && i < len(p.Measurements) && p.Measurements[i].SLO != nil {
		return p.Measurements[i].SLO
	}
	return p.SLO
}
