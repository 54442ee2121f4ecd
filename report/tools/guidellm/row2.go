package guidellm

import (
	"strconv"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

// null is a member that is always null: the tool knows what we do not.
type null = *struct{}

// stats2 is one request. The members of it and of what it holds are in the order of their names.
type stats2 struct {
	AvgRoundTrip       null     `json:"avg_round_trip_time_ms"`
	CachedTokens       *int     `json:"cached_tokens"`
	Info               info2    `json:"info"`
	InputMetrics       usage2   `json:"input_metrics"`
	InterTokenLatency  *float64 `json:"inter_token_latency_ms"`
	IterTokensPerIter  *float64 `json:"iter_tokens_per_iteration"`
	Output             null     `json:"output"`
	OutputMetrics      usage2   `json:"output_metrics"`
	OutputTokens       *int     `json:"output_tokens"`
	OutputTokensPerIt  *float64 `json:"output_tokens_per_iteration"`
	OutputTokensPerS   *float64 `json:"output_tokens_per_second"`
	PromptTokens       *int     `json:"prompt_tokens"`
	ReasoningOutput    null     `json:"reasoning_output"`
	RequestArgs        null     `json:"request_args"`
	DispatchDelay      *float64 `json:"request_dispatch_delay"`
	EndTime            *float64 `json:"request_end_time"`
	ID                 string   `json:"request_id"`
	Latency            *float64 `json:"request_latency"`
	ScheduledLatency   *float64 `json:"request_scheduled_latency"`
	StartTime          *float64 `json:"request_start_time"`
	ResponseID         null     `json:"response_id"`
	ResponseMetrics    null     `json:"response_metrics"`
	TimePerOutputToken *float64 `json:"time_per_output_token_ms"`
	TimeToFirstOutput  *float64 `json:"time_to_first_output_token_ms"`
	TimeToFirstToken   *float64 `json:"time_to_first_token_ms"`
	TimeToLastTrip     null     `json:"time_to_last_round_trip_ms"`
	TokensPerS         *float64 `json:"tokens_per_second"`
	ToolCalls          null     `json:"tool_calls"`
	TotalTokens        *float64 `json:"total_tokens"`
	PredecessorDelay   *float64 `json:"turn_predecessor_delay"`
	SchedulingDelay    *float64 `json:"turn_scheduling_delay"`
	Type               string   `json:"type_"`
}

type info2 struct {
	AgentID        string       `json:"agent_id"`
	CompletedAt    *float64     `json:"completed_at"`
	ConversationID string       `json:"conversation_id"`
	Error          *string      `json:"error"`
	HistoryLen     int          `json:"history_len"`
	NodeID         string       `json:"node_id"`
	ParentNodes    [0]string    `json:"parent_node_ids"`
	PrecedingNodes int          `json:"preceding_nodes"`
	ID             string       `json:"request_id"`
	SchedulerNode  int          `json:"scheduler_node_id"`
	SchedulerProc  int          `json:"scheduler_process_id"`
	SchedulerStart float64      `json:"scheduler_start_time"`
	Settings       settings2    `json:"settings"`
	StartedAt      *float64     `json:"started_at"`
	Status         string       `json:"status"`
	Timings        timingStats2 `json:"timings"`
	Traceback      null         `json:"traceback"`
	TurnIndex      int          `json:"turn_index"`
}

type settings2 struct {
	RelativeTimestamp null `json:"relative_timestamp"`
	RequeueDelay      null `json:"requeue_delay"`
	TraceDuration     null `json:"trace_duration"`
}

type timingStats2 struct {
	Dequeued             *float64 `json:"dequeued"`
	Finalized            *float64 `json:"finalized"`
	FirstOutput          *float64 `json:"first_output_token_iteration"`
	FirstRequest         *float64 `json:"first_request_iteration"`
	FirstToken           *float64 `json:"first_token_iteration"`
	LastRequest          *float64 `json:"last_request_iteration"`
	LastRequestSent      null     `json:"last_request_sent"`
	LastToken            *float64 `json:"last_token_iteration"`
	PredecessorCompleted null     `json:"predecessor_completed"`
	Queued               *float64 `json:"queued"`
	RequestEnd           *float64 `json:"request_end"`
	RequestIterations    int      `json:"request_iterations"`
	RequestSentCount     int      `json:"request_sent_count"`
	RequestSentSum       float64  `json:"request_sent_sum"`
	RequestStart         *float64 `json:"request_start"`
	ResolveEnd           *float64 `json:"resolve_end"`
	ResolveStart         *float64 `json:"resolve_start"`
	ScheduledAt          *float64 `json:"scheduled_at"`
	TargetedStart        *float64 `json:"targeted_start"`
	TokenIterations      int      `json:"token_iterations"`
	TokenReceivedCount   int      `json:"token_received_count"`
	TokenReceivedSum     float64  `json:"token_received_sum"`
}

// usage2 is a count of tokens among the many kinds that the tool knows.
type usage2 struct {
	AudioBytes     null `json:"audio_bytes"`
	AudioSamples   null `json:"audio_samples"`
	AudioSeconds   null `json:"audio_seconds"`
	AudioTokens    null `json:"audio_tokens"`
	CachedTokens   *int `json:"cached_tokens"`
	ImageBytes     null `json:"image_bytes"`
	ImageCount     null `json:"image_count"`
	ImagePixels    null `json:"image_pixels"`
	ImageTokens    null `json:"image_tokens"`
	MixedTokens    null `json:"mixed_content_tool_tokens"`
	TextCharacters null `json:"text_characters"`
	TextTokens     *int `json:"text_tokens"`
	TextWords      null `json:"text_words"`
	ToolCallCount  null `json:"tool_call_count"`
	ToolCallTokens null `json:"tool_call_tokens"`
	TotalTokens    *int `json:"total_tokens"`
	VideoBytes     null `json:"video_bytes"`
	VideoFrames    null `json:"video_frames"`
	VideoSeconds   null `json:"video_seconds"`
	VideoTokens    null `json:"video_tokens"`
}

// unix turns a stamp of a row into unix seconds, nil where there is none.
func (s *stage) unix(ns *int64) *float64 {
	if ns == nil {
		return nil
	}
	t := seconds(s.measurement.Header.AnchorUnixNS + *ns)
	return &t
}

func number(r *report.Row, n tools.Number, factor float64) *float64 {
	v, ok := n(r)
	if !ok {
		return nil
	}
	v *= factor
	return &v
}

// row2 is one request. Times are unix seconds on the one clock of the measurement.
func (s *stage) row2(r *report.Row) stats2 {
	end, n := s.unix(lastSeen(r)), s.numbers
	return stats2{Type: "generative_request_stats", ID: r.ID, Info: s.info(r, end),
		InputMetrics:  usage2{TextTokens: r.TokensIn, CachedTokens: r.TokensCached, TotalTokens: r.TokensIn},
		OutputMetrics: usage2{TextTokens: r.TokensOut, TotalTokens: r.TokensOut},
		StartTime:     s.unix(r.TSend), EndTime: end, Latency: number(r, n["e2e"], 1e-3),
		DispatchDelay: number(r, sinceIntended, 1), PredecessorDelay: number(r, sinceIntended, 0),
		SchedulingDelay: number(r, sinceIntended, 1), ScheduledLatency: number(r, n["e2e_intended"], 1e-3),
		PromptTokens: r.TokensIn, CachedTokens: r.TokensCached, OutputTokens: r.TokensOut, TotalTokens: number(r, eitherTokens, 1),
		TimeToFirstToken: number(r, n["ttft"], 1), TimePerOutputToken: number(r, n["tpot_incl"], 1),
		InterTokenLatency: number(r, n["tpot"], 1), TokensPerS: number(r, n["total_rate_user"], 1),
		OutputTokensPerS: number(r, n["output_rate_user"], 1), TimeToFirstOutput: number(r, n["ttfc"], 1),
		IterTokensPerIter: number(r, perEvent(1), 1), OutputTokensPerIt: number(r, perEvent(0), 1)}
}

func eitherTokens(r *report.Row) (float64, bool) {
	total := 0
	for _, n := range []*int{r.TokensIn, r.TokensOut} {
		if n != nil {
			total += *n
		}
	}
	return float64(total), r.TokensIn != nil || r.TokensOut != nil
}

// lastSeen is the end of a request, or the last that was seen of one that has none. The tool wants one.
func lastSeen(r *report.Row) *int64 {
	for _, t := range []*int64{r.TEnd, r.TLast, r.TFirst, r.TSend} {
		if t != nil {
			return t
		}
	}
	return &r.TIntended
}

func (s *stage) info(r *report.Row, end *float64) info2 {
	status := map[string]string{"successful": "completed", "incomplete": "cancelled", "errored": "errored"}[statusOf(r)]
	var failure *string
	if r.Error != "" || r.ErrorClass != "" {
		text := r.ErrorClass
		if r.Error != "" {
			text = r.ErrorClass + ": " + r.Error
		}
		failure = &text
	}
	return info2{ID: r.ID, ConversationID: strconv.Itoa(r.Session), HistoryLen: r.Turn, TurnIndex: r.Turn,
		PrecedingNodes: r.Turn, NodeID: "main_" + strconv.Itoa(r.Turn), AgentID: "default",
		Status: status, SchedulerStart: seconds(s.StartNS), Timings: s.timings(r, end),
		Error: failure, StartedAt: s.unix(r.TSend), CompletedAt: end}
}

func (s *stage) timings(r *report.Row, end *float64) timingStats2 {
	intended, send, last := s.unix(&r.TIntended), s.unix(r.TSend), s.unix(r.TLast)
	t := timingStats2{TargetedStart: intended, Queued: intended, Dequeued: intended, ScheduledAt: intended,
		ResolveStart: send, RequestStart: send, FirstRequest: s.unix(r.TFirstByte), FirstToken: s.unix(r.TFirst),
		FirstOutput: s.unix(r.TContent), LastToken: last, LastRequest: last, ResolveEnd: end, Finalized: end}
	if r.Events != nil {
		t.RequestIterations, t.TokenIterations = *r.Events, *r.Events
	}
	if r.Status == report.StatusOK {
		t.RequestEnd = end
	}
	return t
}
