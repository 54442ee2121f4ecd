package guidellm

import "bflow.dev/bflow/report/tools"

// row2 is one request in schema 2. Requests of ours have neither media nor calls of tools, and follow no trace of the
// tool: those members are null.
type row2 struct {
	AvgRoundTrip       *float64   `json:"avg_round_trip_time_ms"`
	CachedTokens       *int       `json:"cached_tokens" need:"yes"`
	Info               info2      `json:"info"`
	InputMetrics       usage2     `json:"input_metrics"`
	InterTokenLatency  *float64   `json:"inter_token_latency_ms"`
	IterTokensPerIter  *float64   `json:"iter_tokens_per_iteration"`
	Output             tools.Null `json:"output"`
	OutputMetrics      usage2     `json:"output_metrics"`
	OutputTokens       *int       `json:"output_tokens" need:"yes"`
	OutputTokensPerIt  *float64   `json:"output_tokens_per_iteration"`
	OutputTokensPerS   *float64   `json:"output_tokens_per_second"`
	PromptTokens       *int       `json:"prompt_tokens" need:"yes"`
	ReasoningOutput    tools.Null `json:"reasoning_output"`
	RequestArgs        tools.Null `json:"request_args"`
	DispatchDelay      *float64   `json:"request_dispatch_delay"`
	EndTime            *float64   `json:"request_end_time"`
	ID                 string     `json:"request_id" need:"yes"`
	Latency            *float64   `json:"request_latency"`
	ScheduledLatency   *float64   `json:"request_scheduled_latency"`
	StartTime          *float64   `json:"request_start_time"`
	ResponseID         tools.Null `json:"response_id"`
	ResponseMetrics    tools.Null `json:"response_metrics"`
	TimePerOutputToken *float64   `json:"time_per_output_token_ms"`
	TimeToFirstOutput  *float64   `json:"time_to_first_output_token_ms"`
	TimeToFirstToken   *float64   `json:"time_to_first_token_ms"`
	TimeToLastTrip     *float64   `json:"time_to_last_round_trip_ms"`
	TokensPerS         *float64   `json:"tokens_per_second"`
	ToolCalls          tools.Null `json:"tool_calls"`
	TotalTokens        *float64   `json:"total_tokens"`
	PredecessorDelay   *float64   `json:"turn_predecessor_delay"`
	SchedulingDelay    *float64   `json:"turn_scheduling_delay"`
	Type               string     `json:"type_"`
}

type info2 struct {
	AgentID        string     `json:"agent_id"`
	CompletedAt    *float64   `json:"completed_at"`
	ConversationID string     `json:"conversation_id" need:"yes"`
	Error          *string    `json:"error" need:"yes"`
	HistoryLen     int        `json:"history_len"`
	NodeID         string     `json:"node_id"`
	ParentNodes    []string   `json:"parent_node_ids"`
	PrecedingNodes int        `json:"preceding_nodes"`
	ID             string     `json:"request_id"`
	SchedulerNode  int        `json:"scheduler_node_id"`
	SchedulerProc  int        `json:"scheduler_process_id"`
	SchedulerStart float64    `json:"scheduler_start_time"`
	Settings       settings2  `json:"settings"`
	StartedAt      *float64   `json:"started_at"`
	Status         string     `json:"status"`
	Timings        timings2   `json:"timings"`
	Traceback      tools.Null `json:"traceback"`
	TurnIndex      int        `json:"turn_index" need:"yes"`
}

type settings2 struct {
	RelativeTimestamp *float64 `json:"relative_timestamp"`
	RequeueDelay      *float64 `json:"requeue_delay"`
	TraceDuration     *float64 `json:"trace_duration"`
}

type timings2 struct {
	Dequeued             *float64 `json:"dequeued"`
	Finalized            *float64 `json:"finalized"`
	FirstOutput          *float64 `json:"first_output_token_iteration" need:"yes"`
	FirstRequest         *float64 `json:"first_request_iteration" need:"yes"`
	FirstToken           *float64 `json:"first_token_iteration" need:"yes"`
	LastRequest          *float64 `json:"last_request_iteration"`
	LastRequestSent      *float64 `json:"last_request_sent"`
	LastToken            *float64 `json:"last_token_iteration" need:"yes"`
	PredecessorCompleted *float64 `json:"predecessor_completed"`
	Queued               *float64 `json:"queued"`
	RequestEnd           *float64 `json:"request_end" need:"yes"`
	RequestIterations    int      `json:"request_iterations"`
	RequestSentCount     int      `json:"request_sent_count"`
	RequestSentSum       float64  `json:"request_sent_sum"`
	RequestStart         *float64 `json:"request_start" need:"yes"`
	ResolveEnd           *float64 `json:"resolve_end" need:"yes"`
	ResolveStart         *float64 `json:"resolve_start" need:"yes"`
	ScheduledAt          *float64 `json:"scheduled_at"`
	TargetedStart        *float64 `json:"targeted_start" need:"yes"`
	TokenIterations      *int     `json:"token_iterations" need:"yes"`
	TokenReceivedCount   int      `json:"token_received_count"`
	TokenReceivedSum     float64  `json:"token_received_sum"`
}

// usage2 is a count of tokens among the many kinds that the tool knows.
type usage2 struct {
	AudioBytes     *int       `json:"audio_bytes"`
	AudioSamples   *int       `json:"audio_samples"`
	AudioSeconds   *float64   `json:"audio_seconds"`
	AudioTokens    *int       `json:"audio_tokens"`
	CachedTokens   *int       `json:"cached_tokens"`
	ImageBytes     *int       `json:"image_bytes"`
	ImageCount     *int       `json:"image_count"`
	ImagePixels    *int       `json:"image_pixels"`
	ImageTokens    *int       `json:"image_tokens"`
	MixedTokens    *int       `json:"mixed_content_tool_tokens"`
	TextCharacters tools.Null `json:"text_characters"`
	TextTokens     *int       `json:"text_tokens" need:"yes"`
	TextWords      tools.Null `json:"text_words"`
	ToolCallCount  *int       `json:"tool_call_count"`
	ToolCallTokens *int       `json:"tool_call_tokens"`
	TotalTokens    *int       `json:"total_tokens"`
	VideoBytes     *int       `json:"video_bytes"`
	VideoFrames    *int       `json:"video_frames"`
	VideoSeconds   *float64   `json:"video_seconds"`
	VideoTokens    *int       `json:"video_tokens"`
}
