package guidellm

import (
	"cmp"
	"strconv"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

// unix turns a stamp of a row into unix seconds, nil where there is none.
func (s *stage) unix(ns *int64) *float64 {
	if ns == nil {
		return nil
	}
	return new(seconds(s.measurement.Header.AnchorUnixNS + *ns))
}

func number(r *report.Row, n tools.Number, factor float64) *float64 {
	v, ok := n(r)
	if !ok {
		return nil
	}
	return new(v * factor)
}

// writeRow2 makes one request. Times are unix seconds on the one clock of the measurement.
func (s *stage) writeRow2(r *report.Row) row2 {
	end, n := s.unix(lastSeen(r)), s.numbers
	return row2{Type: "generative_request_stats", ID: r.ID, Info: s.info(r, end),
		InputMetrics:  usage2{TextTokens: r.TokensIn, CachedTokens: r.TokensCached, TotalTokens: r.TokensIn},
		OutputMetrics: usage2{TextTokens: r.TokensOut, TotalTokens: r.TokensOut},
		StartTime:     s.unix(r.TSend), EndTime: end, Latency: number(r, n["e2e"], 1e-3),
		DispatchDelay: number(r, sinceIntended, 1), PredecessorDelay: number(r, sinceIntended, 0),
		SchedulingDelay: number(r, sinceIntended, 1), ScheduledLatency: number(r, n["e2e_intended"], 1e-3),
		PromptTokens: r.TokensIn, CachedTokens: r.TokensCached, OutputTokens: r.TokensOut,
		TotalTokens:      number(r, eitherTokens, 1),
		TimeToFirstToken: number(r, n["ttft"], 1), TimePerOutputToken: number(r, n["tpot_incl"], 1),
		InterTokenLatency: number(r, n["tpot"], 1), TokensPerS: number(r, n["total_rate_user"], 1),
		OutputTokensPerS: number(r, n["output_rate_user"], 1), TimeToFirstOutput: number(r, n["ttfc"], 1),
		IterTokensPerIter: number(r, perEvent(1), 1), OutputTokensPerIt: number(r, perEvent(0), 1)}
}

func eitherTokens(r *report.Row) (float64, bool) {
	return float64(valueOf(r.TokensIn) + valueOf(r.TokensOut)), r.TokensIn != nil || r.TokensOut != nil
}

// lastSeen is the end of a request, or the last that was seen of one that has none. The tool wants one.
func lastSeen(r *report.Row) *int64 {
	return cmp.Or(r.TEnd, r.TLast, r.TFirst, r.TSend, &r.TIntended)
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
		PrecedingNodes: r.Turn, ParentNodes: []string{}, NodeID: "main_" + strconv.Itoa(r.Turn), AgentID: "default",
		Status: status, SchedulerStart: seconds(s.StartNS), Timings: s.timings(r, end),
		Error: failure, StartedAt: s.unix(r.TSend), CompletedAt: end}
}

func (s *stage) timings(r *report.Row, end *float64) timings2 {
	intended, send, last := s.unix(&r.TIntended), s.unix(r.TSend), s.unix(r.TLast)
	t := timings2{TargetedStart: intended, Queued: intended, Dequeued: intended, ScheduledAt: intended,
		ResolveStart: send, RequestStart: send, FirstRequest: s.unix(r.TFirstByte), FirstToken: s.unix(r.TFirst),
		FirstOutput: s.unix(r.TContent), LastToken: last, LastRequest: last, ResolveEnd: end, Finalized: end,
		TokenIterations: orZero(r.Events), RequestIterations: valueOf(r.Events)}
	if r.Status == report.StatusOK {
		t.RequestEnd = end
	}
	return t
}
