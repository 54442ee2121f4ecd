package guidellm

import "bflow.dev/bflow/report/tools"

// metrics2 are the metrics of a benchmark in schema 2.
type metrics2 struct {
	Audio              audio2     `json:"audio" need:"no"`
	AvgRoundTrip       *statuses2 `json:"avg_round_trip_time_ms" need:"no"`
	Image              image2     `json:"image" need:"no"`
	InterTokenLatency  *statuses2 `json:"inter_token_latency_ms"`
	IterTokensPerIter  *statuses2 `json:"iter_tokens_per_iteration" need:"no"`
	OutputTokens       *statuses2 `json:"output_token_count"`
	OutputTokensPerIt  *statuses2 `json:"output_tokens_per_iteration" need:"no"`
	OutputTokensPerS   *statuses2 `json:"output_tokens_per_second"`
	PromptTokens       *statuses2 `json:"prompt_token_count"`
	PromptTokensPerS   *statuses2 `json:"prompt_tokens_per_second"`
	Concurrency        *statuses2 `json:"request_concurrency"`
	DispatchDelay      *statuses2 `json:"request_dispatch_delay"`
	Goodput            *statuses2 `json:"request_goodput" need:"no"`
	Latency            *statuses2 `json:"request_latency"`
	ScheduledLatency   *statuses2 `json:"request_scheduled_latency"`
	Iterations         *statuses2 `json:"request_streaming_iterations_count" need:"no"`
	Totals             breakdown  `json:"request_totals"`
	RequestsPerS       *statuses2 `json:"requests_per_second"`
	RootDispatchDelay  *summary2  `json:"root_dispatch_delay" need:"no"`
	Attainment         *float64   `json:"slo_attainment" need:"yes"`
	DeterminedRequests int        `json:"slo_determined_requests" need:"yes"`
	Text               text2      `json:"text" need:"no"`
	TimePerOutputToken *statuses2 `json:"time_per_output_token_ms"`
	TimeToFirstOutput  *statuses2 `json:"time_to_first_output_token_ms"`
	TimeToFirstToken   *statuses2 `json:"time_to_first_token_ms"`
	TimeToLastTrip     *statuses2 `json:"time_to_last_round_trip_ms" need:"no"`
	TokensPerS         *statuses2 `json:"tokens_per_second"`
	ToolCall           toolCall2  `json:"tool_call" need:"no"`
	TotalTokens        *statuses2 `json:"total_token_count" need:"no"`
	PredecessorDelay   *statuses2 `json:"turn_predecessor_delay" need:"no"`
	SchedulingDelay    *statuses2 `json:"turn_scheduling_delay" need:"no"`
	Turns              tools.Null `json:"turns"`
	Video              video2     `json:"video" need:"no"`
}

// statuses2 is a distribution under each status of requests.
type statuses2 struct {
	Errored    *summary2 `json:"errored" need:"no"`
	Incomplete *summary2 `json:"incomplete" need:"no"`
	Successful *summary2 `json:"successful"`
	Total      *summary2 `json:"total"`
}

// summary2 is a summary in schema 2; we give no intervals and no curve.
type summary2 struct {
	summary
	PDF           tools.Null            `json:"pdf"`
	MeanCI        *interval2            `json:"mean_ci"`
	PercentileCIs map[string]*interval2 `json:"percentile_cis"`
}

// interval2 is one of confidence.
type interval2 struct {
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
}

func under2(of map[string]summary) *statuses2 {
	one := func(status string) *summary2 { return &summary2{summary: of[status]} }
	return &statuses2{Errored: one("errored"), Incomplete: one("incomplete"), Successful: one("successful"),
		Total: one("total")}
}

// named returns the distributions that both generations have, and those of this one, by the tool's names.
func (m *metrics2) named() map[string]distribution {
	out := map[string]distribution{}
	for name, d := range map[string]*statuses2{
		"request_latency":               m.Latency,
		"request_scheduled_latency":     m.ScheduledLatency,
		"request_dispatch_delay":        m.DispatchDelay,
		"time_to_first_token_ms":        m.TimeToFirstToken,
		"time_to_first_output_token_ms": m.TimeToFirstOutput,
		"inter_token_latency_ms":        m.InterTokenLatency,
		"time_per_output_token_ms":      m.TimePerOutputToken,
		"prompt_token_count":            m.PromptTokens,
		"output_token_count":            m.OutputTokens,
		"request_concurrency":           m.Concurrency,
		"requests_per_second":           m.RequestsPerS,
		"prompt_tokens_per_second":      m.PromptTokensPerS,
		"output_tokens_per_second":      m.OutputTokensPerS,
		"tokens_per_second":             m.TokensPerS,
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

// modality2 is a number of pieces of one kind in requests and answers.
type modality2 struct {
	Input             *statuses2 `json:"input"`
	InputConcurrency  *statuses2 `json:"input_concurrency"`
	InputPerS         *statuses2 `json:"input_per_second"`
	Output            *statuses2 `json:"output"`
	OutputConcurrency *statuses2 `json:"output_concurrency"`
	OutputPerS        *statuses2 `json:"output_per_second"`
	Total             *statuses2 `json:"total"`
	TotalConcurrency  *statuses2 `json:"total_concurrency"`
	TotalPerS         *statuses2 `json:"total_per_second"`
}

type text2 struct {
	Characters modality2 `json:"characters"`
	Tokens     modality2 `json:"tokens"`
	Words      modality2 `json:"words"`
}

type image2 struct {
	Bytes  modality2 `json:"bytes"`
	Images modality2 `json:"images"`
	Pixels modality2 `json:"pixels"`
	Tokens modality2 `json:"tokens"`
}

type video2 struct {
	Bytes   modality2 `json:"bytes"`
	Frames  modality2 `json:"frames"`
	Seconds modality2 `json:"seconds"`
	Tokens  modality2 `json:"tokens"`
}

type audio2 struct {
	Bytes   modality2 `json:"bytes"`
	Samples modality2 `json:"samples"`
	Seconds modality2 `json:"seconds"`
	Tokens  modality2 `json:"tokens"`
}

type toolCall2 struct {
	Count       modality2 `json:"count"`
	MixedTokens modality2 `json:"mixed_tokens"`
	Tokens      modality2 `json:"tokens"`
}
