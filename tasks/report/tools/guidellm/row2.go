package guidellm

import (
	"strconv"

	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/report/tools"
)

// unix turns a stamp of a row into unix seconds, nil where there is none.
func (s *stage) unix(ns *int64) any {
	if ns == nil {
		return nil
	}
	return seconds(s.measurement.Header.AnchorUnixNS + *ns)
}

func (s *stage) number(r *report.Row, n tools.Number, factor float64) any {
	if v, ok := n(r); ok {
		return v * factor
	}
	return nil
}

func count(n *int) any {
	if n == nil {
		return nil
	}
	return *n
}

// row2 is one request. Times are unix seconds on the one clock of the measurement.
func (s *stage) row2(r *report.Row) object {
	end := s.unix(lastSeen(r))
	in, out := usage(r.TokensIn, r.TokensCached), usage(r.TokensOut, nil)
	n := s.numbers
	row := object{"type_": "generative_request_stats", "request_id": r.ID, "response_id": nil, "request_args": nil, "output": nil,
		"reasoning_output": nil, "tool_calls": nil, "info": s.info(r, end), "input_metrics": in, "response_metrics": nil, "output_metrics": out,
		"request_start_time": s.unix(r.TSend), "request_end_time": end, "request_latency": s.number(r, n["e2e"], 1e-3),
		"request_dispatch_delay": s.number(r, sinceIntended, 1), "turn_predecessor_delay": s.number(r, sinceIntended, 0),
		"turn_scheduling_delay": s.number(r, sinceIntended, 1), "request_scheduled_latency": s.number(r, n["e2e_intended"], 1e-3),
		"prompt_tokens": count(r.TokensIn), "cached_tokens": count(r.TokensCached), "output_tokens": count(r.TokensOut),
		"total_tokens":           s.number(r, eitherTokens, 1),
		"time_to_first_token_ms": s.number(r, n["ttft"], 1), "time_to_last_round_trip_ms": nil, "avg_round_trip_time_ms": nil,
		"time_per_output_token_ms": s.number(r, n["tpot_incl"], 1), "inter_token_latency_ms": s.number(r, n["tpot"], 1),
		"tokens_per_second": s.number(r, n["total_rate_user"], 1), "output_tokens_per_second": s.number(r, n["output_rate_user"], 1),
		"time_to_first_output_token_ms": s.number(r, n["ttfc"], 1),
		"iter_tokens_per_iteration":     s.number(r, perEvent(1), 1), "output_tokens_per_iteration": s.number(r, perEvent(0), 1)}
	return row
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

func (s *stage) info(r *report.Row, end any) object {
	status := map[string]string{"successful": "completed", "incomplete": "cancelled", "errored": "errored"}[statusOf(r)]
	var failure any
	if r.Error != "" || r.ErrorClass != "" {
		failure = r.ErrorClass
		if r.Error != "" {
			failure = r.ErrorClass + ": " + r.Error
		}
	}
	return object{"request_id": r.ID, "conversation_id": strconv.Itoa(r.Session), "history_len": r.Turn, "turn_index": r.Turn,
		"preceding_nodes": r.Turn, "node_id": "main_" + strconv.Itoa(r.Turn), "agent_id": "default", "parent_node_ids": []string{},
		"status": status, "scheduler_node_id": 0, "scheduler_process_id": 0, "scheduler_start_time": seconds(s.StartNS),
		"timings": s.timings(r, end), "settings": object{"relative_timestamp": nil, "requeue_delay": nil, "trace_duration": nil},
		"error": failure, "traceback": nil, "started_at": s.unix(r.TSend), "completed_at": end}
}

func (s *stage) timings(r *report.Row, end any) object {
	var ended any
	if r.Status == report.StatusOK {
		ended = end
	}
	n := 0
	if r.Events != nil {
		n = *r.Events
	}
	intended := s.unix(&r.TIntended)
	return object{"targeted_start": intended, "predecessor_completed": nil, "queued": intended, "dequeued": intended, "scheduled_at": intended,
		"resolve_start": s.unix(r.TSend), "request_start": s.unix(r.TSend), "first_request_iteration": s.unix(r.TFirstByte),
		"first_token_iteration": s.unix(r.TFirst), "first_output_token_iteration": s.unix(r.TContent),
		"last_token_iteration": s.unix(r.TLast), "last_request_iteration": s.unix(r.TLast), "request_iterations": n, "token_iterations": n,
		"last_request_sent": nil, "request_sent_sum": 0.0, "request_sent_count": 0, "token_received_sum": 0.0, "token_received_count": 0,
		"request_end": ended, "resolve_end": end, "finalized": end}
}

// usage is a count of tokens among the many kinds that the tool knows.
func usage(tokens, cached *int) object {
	out := object{"text_tokens": count(tokens), "cached_tokens": count(cached), "total_tokens": count(tokens)}
	for _, name := range []string{"text_words", "text_characters", "image_tokens", "image_count", "image_pixels", "image_bytes", "video_tokens",
		"video_frames", "video_seconds", "video_bytes", "audio_tokens", "audio_samples", "audio_seconds", "audio_bytes", "tool_call_tokens",
		"mixed_content_tool_tokens", "tool_call_count"} {
		out[name] = nil
	}
	return out
}
