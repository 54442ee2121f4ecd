package guidellm

import (
	"encoding/json"

	"bflow.dev/bflow/report/tools"
)

// report2 is a report in schema 2. In every struct of a report the members are in the order of their names, as they
// are written; a reader takes those that are marked as needed.
type report2 struct {
	Benchmarks  []benchmark2      `json:"benchmarks"`
	Conclusions []json.RawMessage `json:"conclusions"`
	Config      scenario2         `json:"config"`
	Metadata    metadata2         `json:"metadata"`
}

type metadata2 struct {
	Release  string `json:"guidellm_version" need:"yes"`
	Platform string `json:"platform"`
	Python   string `json:"python_version"`
	Version  int    `json:"version" need:"yes"`
}

// scenario2 is what the report says it was run with.
type scenario2 struct {
	Benchmarks []tools.Null   `json:"benchmarks"`
	Metadata   labels2        `json:"metadata"`
	Spec       specification2 `json:"spec"`
}

type labels2 struct {
	Labels map[string]string `json:"labels"`
}

type specification2 struct {
	Backend       backend2        `json:"backend"`
	Constraints   []constraint2   `json:"constraints"`
	Data          []synthetic2    `json:"data"`
	ColumnMapper  columnMapper2   `json:"data_column_mapper"`
	Finalizer     finalizer2      `json:"data_finalizer"`
	Loader        loader2         `json:"data_loader"`
	Preprocessors []preprocessor2 `json:"data_preprocessors"`
	Metrics       measuring2      `json:"metrics"`
	Outputs       []output2       `json:"outputs"`
	Profile       profile2        `json:"profile" need:"no"`
	Seed          seed2           `json:"seed"`
	Tokenizer     tokenizer2      `json:"tokenizer"`
}

type backend2 struct {
	APIKey            tools.Null        `json:"api_key"`
	Routes            map[string]string `json:"api_routes"`
	Extras            tools.Null        `json:"extras"`
	FollowRedirects   bool              `json:"follow_redirects"`
	HTTP2             bool              `json:"http2"`
	Kind              string            `json:"kind"`
	MaxTokens         tools.Null        `json:"max_tokens"`
	Model             string            `json:"model" need:"yes"`
	Reasoning         bool              `json:"multiturn_reasoning"`
	Format            string            `json:"request_format" need:"yes"`
	ServerHistory     bool              `json:"server_history"`
	Stream            *bool             `json:"stream" need:"yes"`
	Target            string            `json:"target" need:"yes"`
	Timeout           *float64          `json:"timeout"`
	ConnectTimeout    float64           `json:"timeout_connect"`
	ToolCallMissing   string            `json:"tool_call_missing_behavior"`
	ValidateBackend   bool              `json:"validate_backend"`
	VerifyCertificate bool              `json:"verify"`
}

type constraint2 struct {
	Count   *int     `json:"count,omitempty"`
	Kind    string   `json:"kind"`
	Seconds *float64 `json:"seconds,omitempty"`
	Scope   string   `json:"stopping_scope"`
}

// constraintState2 is a constraint in force.
type constraintState2 struct {
	Args  constraint2 `json:"args"`
	Index int         `json:"current_index"`
	Type  string      `json:"type_"`
}

// synthetic2 is data that the tool makes up; lengths are in tokens.
type synthetic2 struct {
	Branches            []json.RawMessage `json:"branches"`
	Delay               *float64          `json:"delay"`
	DelayMax            *float64          `json:"delay_max"`
	DelayMin            *float64          `json:"delay_min"`
	DelayStdev          *float64          `json:"delay_stdev"`
	FirstOutput         *int              `json:"first_output_tokens"`
	FirstOutputMax      *int              `json:"first_output_tokens_max"`
	FirstOutputMin      *int              `json:"first_output_tokens_min"`
	FirstOutputStdev    *int              `json:"first_output_tokens_stdev"`
	FirstPrompt         *int              `json:"first_prompt_tokens"`
	FirstPromptMax      *int              `json:"first_prompt_tokens_max"`
	FirstPromptMin      *int              `json:"first_prompt_tokens_min"`
	FirstPromptStdev    *int              `json:"first_prompt_tokens_stdev"`
	Kind                string            `json:"kind"`
	LoadArgs            tools.Free        `json:"load_kwargs"`
	Output              *int              `json:"output_tokens"`
	OutputMax           *int              `json:"output_tokens_max"`
	OutputMin           *int              `json:"output_tokens_min"`
	OutputStdev         *int              `json:"output_tokens_stdev"`
	Prefixes            []prefix2         `json:"prefix_buckets"`
	Prompt              *int              `json:"prompt_tokens"`
	PromptMax           *int              `json:"prompt_tokens_max"`
	PromptMin           *int              `json:"prompt_tokens_min"`
	PromptStdev         *int              `json:"prompt_tokens_stdev"`
	ServerToolCallTurns []json.RawMessage `json:"server_tool_call_turns"`
	ToolCallTurns       []json.RawMessage `json:"tool_call_turns"`
	ToolResponse        *int              `json:"tool_response_tokens"`
	ToolResponseMax     *int              `json:"tool_response_tokens_max"`
	ToolResponseMin     *int              `json:"tool_response_tokens_min"`
	ToolResponseStdev   *int              `json:"tool_response_tokens_stdev"`
	Tools               tools.Null        `json:"tools"`
	Turns               int               `json:"turns"`
}

type prefix2 struct {
	Weight int `json:"bucket_weight"`
	Count  int `json:"prefix_count"`
	Tokens int `json:"prefix_tokens"`
}

type columnMapper2 struct {
	Mappings tools.Null `json:"column_mappings"`
	Kind     string     `json:"kind"`
}

type finalizer2 struct {
	Kind         string `json:"kind"`
	ToolCallMode string `json:"tool_call_mode"`
}

type loader2 struct {
	Kind     string `json:"kind"`
	Workers  int    `json:"num_workers"`
	Prefetch int    `json:"prefetch_factor"`
	Samples  int    `json:"samples"`
	Shuffle  bool   `json:"shuffle"`
}

type preprocessor2 struct {
	Audio tools.Free `json:"audio_kwargs"`
	Image tools.Free `json:"image_kwargs"`
	Kind  string     `json:"kind"`
	Video tools.Free `json:"video_kwargs"`
}

// measuring2 is how the tool computes its metrics.
type measuring2 struct {
	Confidence     *float64          `json:"confidence"`
	Kind           string            `json:"kind"`
	PreferResponse bool              `json:"prefer_response_metrics"`
	SampleSize     *int              `json:"sample_size"`
	SLO            *slo2             `json:"slo"`
	Warnings       []json.RawMessage `json:"warnings"`
}

type slo2 struct {
	E2E  *float64 `json:"e2el_ms"`
	TPOT *float64 `json:"tpot_ms"`
	TTFT *float64 `json:"ttft_ms"`
}

type output2 struct {
	Kind string `json:"kind"`
	Path string `json:"path"`
}

type profile2 struct {
	Cooldown       trim2                  `json:"cooldown"`
	Kind           string                 `json:"kind"`
	MaxConcurrency tools.Maybe[int]       `json:"max_concurrency,omitzero"`
	Rampup         float64                `json:"rampup_duration"`
	Rate           tools.Maybe[[]float64] `json:"rate,omitzero"`
	ScheduleTurn   string                 `json:"schedule_turn,omitempty"`
	Streams        []int                  `json:"streams,omitempty"`
	TimeScale      *float64               `json:"time_scale,omitempty"`
	Warmup         trim2                  `json:"warmup"`
}

type trim2 struct {
	Mode    string   `json:"mode" need:"yes"` // what Value counts
	Percent *float64 `json:"percent" need:"yes"`
	Value   *float64 `json:"value" need:"yes"`
}

type seed2 struct {
	Kind  string `json:"kind"`
	Value int64  `json:"value"`
}

type tokenizer2 struct {
	Kind     string     `json:"kind"`
	LoadArgs tools.Free `json:"load_kwargs"`
	Model    string     `json:"model"`
}

// benchmark2 is a benchmark of 0.4 and later.
type benchmark2 struct {
	Config           config2    `json:"config"`
	CooldownDuration float64    `json:"cooldown_duration"`
	Duration         float64    `json:"duration"`
	End              float64    `json:"end_time"`
	Extras           tools.Free `json:"extras,omitempty"` // of the person who runs load-gen
	Metrics          metrics2   `json:"metrics"`
	Requests         requests2  `json:"requests"`
	Scheduler        scheduler2 `json:"scheduler_metrics"`
	State            state2     `json:"scheduler_state"`
	Start            float64    `json:"start_time"`
	Type             string     `json:"type_"`
	WarmupDuration   float64    `json:"warmup_duration"`
	Warnings         []warning2 `json:"warnings"`
}

type config2 struct {
	Backend        backend2                    `json:"backend"`
	Confidence     *float64                    `json:"confidence"`
	Constraints    map[string]constraintState2 `json:"constraints"`
	Cooldown       trim2                       `json:"cooldown"`
	Environment    environment2                `json:"environment"`
	ID             string                      `json:"id_"`
	PreferResponse bool                        `json:"prefer_response_metrics"`
	Profile        profile2                    `json:"profile" need:"no"`
	Loader         loader2                     `json:"requests"`
	RunID          string                      `json:"run_id"`
	RunIndex       int                         `json:"run_index"`
	SampleSize     *int                        `json:"sample_size"`
	SLO            *slo2                       `json:"slo"`
	Strategy       strategy2                   `json:"strategy"`
	Warmup         trim2                       `json:"warmup"`
	Warnings       []json.RawMessage           `json:"warnings"`
}

// environment2 is free in the tool.
type environment2 struct {
	ExportedBy  string `json:"exported_by"`
	Tool        string `json:"tool"`
	ToolVersion string `json:"tool_version"`
}

type strategy2 struct {
	MaxConcurrency *int     `json:"max_concurrency" need:"yes"`
	Rampup         *float64 `json:"rampup_duration,omitempty"`
	Rate           *float64 `json:"rate,omitempty" need:"yes"`
	ScheduleTurn   string   `json:"schedule_turn,omitempty"`
	Streams        *int     `json:"streams,omitempty" need:"yes"`
	TimeScale      *float64 `json:"time_scale,omitempty"`
	Type           string   `json:"type_" need:"yes"`
	Workers        int      `json:"worker_count"`
}

// state2 is what the tool's scheduler knows at the end.
type state2 struct {
	Cancelled          int        `json:"cancelled_requests"`
	Created            int        `json:"created_requests"`
	EndProcessingRules tools.Free `json:"end_processing_constraints"`
	EndProcessing      float64    `json:"end_processing_time"`
	EndQueuingRules    tools.Free `json:"end_queuing_constraints"`
	EndQueuing         float64    `json:"end_queuing_time"`
	EndRequests        float64    `json:"end_requests_time"`
	End                float64    `json:"end_time"`
	Errored            int        `json:"errored_requests"`
	NodeID             int        `json:"node_id"`
	Processes          int        `json:"num_processes"`
	Pending            int        `json:"pending_requests"`
	Processed          int        `json:"processed_requests"`
	Processing         int        `json:"processing_requests"`
	Progress           progress2  `json:"progress"`
	Queued             int        `json:"queued_requests"`
	Rules              tools.Free `json:"scheduler_constraints"`
	StartRequests      float64    `json:"start_requests_time"`
	Start              float64    `json:"start_time"`
	Successful         int        `json:"successful_requests"`
}

type progress2 struct {
	RemainingDuration *float64 `json:"remaining_duration"`
	RemainingRequests *float64 `json:"remaining_requests"`
	Stop              *float64 `json:"stop_time"`
	TotalDuration     *float64 `json:"total_duration"`
	TotalRequests     *float64 `json:"total_requests"`
}

type scheduler2 struct {
	DatasetIncomplete    bool      `json:"dataset_incomplete"`
	End                  float64   `json:"end_time" need:"yes"`
	FinalizedDelay       float64   `json:"finalized_delay_avg"`
	GenerationDelay      summary2  `json:"generation_delay" need:"no"`
	MeasureEnd           float64   `json:"measure_end_time" need:"yes"`
	MeasureStart         float64   `json:"measure_start_time" need:"yes"`
	ProcessedDelay       float64   `json:"processed_delay_avg"`
	QueuedTime           float64   `json:"queued_time_avg"`
	RequestEnd           float64   `json:"request_end_time"`
	RequestStartDelay    float64   `json:"request_start_delay_avg"`
	RequestStart         float64   `json:"request_start_time" need:"yes"`
	TargetedStartDelay   float64   `json:"request_targeted_start_delay_avg"`
	RequestTime          float64   `json:"request_time_avg"`
	Made                 breakdown `json:"requests_made"`
	ResolveEndDelay      float64   `json:"resolve_end_delay_avg"`
	ResolveStartDelay    float64   `json:"resolve_start_delay_avg"`
	ResolveTargetedDelay float64   `json:"resolve_targeted_start_delay_avg"`
	ResolveTime          float64   `json:"resolve_time_avg"`
	Start                float64   `json:"start_time" need:"yes"`
	StrategyType         string    `json:"strategy_type"`
}

type requests2 = requests[row2]

type warning2 struct {
	Code        string  `json:"code"`
	Message     string  `json:"message" need:"yes"`
	Note        string  `json:"note"`
	Observed    float64 `json:"observed"`
	SampleCount int     `json:"sample_count"`
	Threshold   float64 `json:"threshold"`
	Unit        string  `json:"unit"`
}
