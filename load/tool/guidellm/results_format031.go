package guidellm

import "bflow.dev/bflow/report/tools"

// report031 is a report of 0.3.1.
type report031 struct {
	Benchmarks []benchmark031 `json:"benchmarks"`
}

// benchmark031 is a benchmark of 0.3 and before.
type benchmark031 struct {
	Args           args031     `json:"args"`
	Duration       float64     `json:"duration"`
	End            float64     `json:"end_time" need:"yes"`
	Extras         tools.Free  `json:"extras"`
	ID             string      `json:"id_"`
	Metrics        metrics031  `json:"metrics"`
	Loader         loader031   `json:"request_loader"`
	RequestSamples tools.Null  `json:"request_samples"`
	Totals         *breakdown  `json:"request_totals"`
	Requests       requests031 `json:"requests"`
	RunID          string      `json:"run_id"`
	RunStats       runStats031 `json:"run_stats"`
	Start          float64     `json:"start_time" need:"yes"`
	Type           string      `json:"type_"`
	Worker         worker031   `json:"worker"`
}

type args031 struct {
	CooldownDuration *float64    `json:"cooldown_duration"`
	CooldownNumber   *int        `json:"cooldown_number"`
	MaxDuration      *float64    `json:"max_duration"`
	MaxNumber        *int        `json:"max_number"`
	Profile          profile031  `json:"profile"`
	Strategy         strategy031 `json:"strategy"`
	StrategyIndex    int         `json:"strategy_index"`
	WarmupDuration   *float64    `json:"warmup_duration"`
	WarmupNumber     *int        `json:"warmup_number"`
}

type profile031 struct {
	Completed      int              `json:"completed_strategies"`
	InitialBurst   *bool            `json:"initial_burst,omitempty"`
	MaxConcurrency tools.Maybe[int] `json:"max_concurrency,omitzero"`
	Concurrencies  []float64        `json:"measured_concurrencies"`
	Rates          []float64        `json:"measured_rates"`
	RandomSeed     *int64           `json:"random_seed,omitempty"`
	Rate           []float64        `json:"rate,omitempty"`
	StrategyType   string           `json:"strategy_type,omitempty"`
	Streams        []float64        `json:"streams,omitempty"`
	Type           string           `json:"type_"`
}

type strategy031 struct {
	InitialBurst   *bool            `json:"initial_burst,omitempty"`
	MaxConcurrency tools.Maybe[int] `json:"max_concurrency,omitzero" need:"yes"`
	RandomSeed     *int64           `json:"random_seed,omitempty"`
	Rate           *float64         `json:"rate,omitempty" need:"yes"`
	Start          float64          `json:"start_time"`
	Streams        *int             `json:"streams,omitempty" need:"yes"`
	Type           string           `json:"type_" need:"yes"`
}

type loader031 struct {
	Data          string     `json:"data"`
	DataArgs      tools.Null `json:"data_args"`
	Processor     string     `json:"processor"`
	ProcessorArgs tools.Null `json:"processor_args"`
	Type          string     `json:"type_"`
}

type runStats031 struct {
	End                  float64   `json:"end_time" need:"yes"`
	QueuedTime           float64   `json:"queued_time_avg"`
	RequestStartDelay    float64   `json:"request_start_time_delay_avg"`
	RequestTargetedDelay float64   `json:"request_start_time_targeted_delay_avg"`
	RequestTime          float64   `json:"request_time_avg"`
	RequestTimeDelay     float64   `json:"request_time_delay_avg"`
	Made                 breakdown `json:"requests_made"`
	ScheduledDelay       float64   `json:"scheduled_time_delay_avg"`
	ScheduledSleep       float64   `json:"scheduled_time_sleep_avg"`
	Start                float64   `json:"start_time" need:"yes"`
	WorkerStartDelay     float64   `json:"worker_start_delay_avg"`
	WorkerTargetedDelay  float64   `json:"worker_start_time_targeted_delay_avg"`
	WorkerTime           float64   `json:"worker_time_avg"`
}

type worker031 struct {
	BackendInfo tools.Free `json:"backend_info"`
	Model       string     `json:"backend_model" need:"yes"`
	Target      string     `json:"backend_target" need:"yes"`
	BackendType string     `json:"backend_type"`
	Type        string     `json:"type_"`
}

type metrics031 struct {
	InterTokenLatency  *statuses031 `json:"inter_token_latency_ms"`
	OutputTokens       *statuses031 `json:"output_token_count"`
	OutputTokensPerS   *statuses031 `json:"output_tokens_per_second"`
	PromptTokens       *statuses031 `json:"prompt_token_count"`
	Concurrency        *statuses031 `json:"request_concurrency" need:"no"`
	Latency            *statuses031 `json:"request_latency"`
	RequestsPerS       *statuses031 `json:"requests_per_second"`
	TimePerOutputToken *statuses031 `json:"time_per_output_token_ms"`
	TimeToFirstToken   *statuses031 `json:"time_to_first_token_ms"`
	TokensPerS         *statuses031 `json:"tokens_per_second"`
}

// statuses031 is a distribution under each status of requests.
type statuses031 struct {
	Errored    *summary031 `json:"errored" need:"no"`
	Incomplete *summary031 `json:"incomplete" need:"no"`
	Successful *summary031 `json:"successful"`
	Total      *summary031 `json:"total"`
}

// summary031 is a summary of that generation.
type summary031 struct {
	summary
	CDF tools.Null `json:"cumulative_distribution_function"`
}

func under031(of map[string]summary) *statuses031 {
	one := func(status string) *summary031 { return &summary031{summary: of[status]} }
	return &statuses031{Errored: one("errored"), Incomplete: one("incomplete"), Successful: one("successful"),
		Total: one("total")}
}

// named returns the distributions that a reader takes, by the tool's names.
func (m *metrics031) named() map[string]distribution {
	out := map[string]distribution{}
	for name, d := range map[string]*statuses031{
		"request_latency":          m.Latency,
		"time_to_first_token_ms":   m.TimeToFirstToken,
		"inter_token_latency_ms":   m.InterTokenLatency,
		"time_per_output_token_ms": m.TimePerOutputToken,
		"prompt_token_count":       m.PromptTokens,
		"output_token_count":       m.OutputTokens,
		"requests_per_second":      m.RequestsPerS,
		"output_tokens_per_second": m.OutputTokensPerS,
		"tokens_per_second":        m.TokensPerS,
	} {
		if d == nil {
			continue
		}
		one := distribution{}
		if d.Successful != nil {
			one.successful = &d.Successful.summary
		}
		if d.Total != nil {
			one.total = &d.Total.summary
		}
		out[name] = one
	}
	return out
}

type requests031 = requests[row031]

// row031 is one request.
type row031 struct {
	EndTime            *float64     `json:"end_time" need:"yes"`
	Error              *string      `json:"error,omitempty" need:"yes"`
	FirstTokenTime     *float64     `json:"first_token_time" need:"yes"`
	InterTokenLatency  *float64     `json:"inter_token_latency_ms"`
	LastTokenTime      *float64     `json:"last_token_time" need:"yes"`
	Output             *string      `json:"output"`
	OutputTokens       *int         `json:"output_tokens" need:"yes"`
	OutputTokensPerS   *float64     `json:"output_tokens_per_second"`
	Prompt             string       `json:"prompt"`
	PromptTokens       *int         `json:"prompt_tokens" need:"yes"`
	ID                 string       `json:"request_id" need:"yes"`
	Latency            float64      `json:"request_latency"`
	RequestType        string       `json:"request_type" need:"yes"`
	Scheduler          scheduler031 `json:"scheduler_info"`
	StartTime          *float64     `json:"start_time" need:"yes"`
	TimePerOutputToken *float64     `json:"time_per_output_token_ms"`
	TimeToFirstToken   *float64     `json:"time_to_first_token_ms"`
	TokensPerS         *float64     `json:"tokens_per_second"`
	Type               string       `json:"type_"`
}

type scheduler031 struct {
	Canceled      bool     `json:"canceled"`
	Completed     bool     `json:"completed"`
	DequeuedTime  *float64 `json:"dequeued_time"`
	Errored       bool     `json:"errored"`
	ProcessID     int      `json:"process_id"`
	QueuedTime    *float64 `json:"queued_time"`
	RequestEnd    *float64 `json:"request_end"`
	RequestStart  *float64 `json:"request_start"`
	Requested     bool     `json:"requested"`
	ScheduledTime *float64 `json:"scheduled_time"`
	TargetedStart *float64 `json:"targeted_start_time" need:"yes"`
	WorkerEnd     *float64 `json:"worker_end"`
	WorkerStart   *float64 `json:"worker_start"`
}
