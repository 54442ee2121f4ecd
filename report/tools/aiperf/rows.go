package aiperf

import (
	"context"
	"iter"
	"strconv"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

// requests are the requests of a stage. All stamps are wall time in ns.
func requests(m *tools.Measurement, s *tools.Stage) tools.List {
	all := numbers()
	return func(ctx context.Context) iter.Seq2[any, error] {
		return func(yield func(any, error) bool) {
			n := -1
			for r, err := range s.Requests.All(ctx) {
				if err != nil {
					yield(nil, err)
					return
				}
				if n++; r.Status == report.StatusDropped {
					continue // never sent: the tool has no row for it
				}
				line := object{"metadata": metadata(m, n, r), "metrics": rowMetrics(all, r)}
				if r.Status != report.StatusOK {
					line["error"] = failure(r)
				}
				if !yield(line, nil) {
					return
				}
			}
		}
	}
}

func metadata(m *tools.Measurement, n int, r *report.Row) object {
	wall := func(ns *int64) any { return m.Header.AnchorUnixNS + *ns }
	out := object{"session_num": n, "x_request_id": r.ID, "x_correlation_id": r.ID, "conversation_id": strconv.Itoa(r.Session), "turn_index": r.Turn,
		"credit_issued_ns": wall(&r.TIntended), "worker_id": "load-gen", "record_processor_id": "load-gen", "benchmark_phase": "profiling",
		"phase_index": 0, "profiling_index": 0, "phase_name": "profiling", "phase_kind": "profiling",
		"was_cancelled": r.Status == report.StatusCancelled, "context_overflow_skip": false, "agent_depth": 0, "root_correlation_id": r.ID}
	start := &r.TIntended
	if r.TSend != nil {
		start = r.TSend
	}
	out["request_start_ns"], out["request_end_ns"] = wall(start), wall(start)
	if r.TFirstByte != nil {
		out["request_ack_ns"] = wall(r.TFirstByte)
	}
	for _, end := range []*int64{r.TEnd, r.TLast, r.TFirst} {
		if end != nil {
			out["request_end_ns"] = wall(end)
			break
		}
	}
	if r.Status == report.StatusCancelled {
		out["cancellation_time_ns"] = out["request_end_ns"]
	}
	return out
}

// rowMetrics are empty but for the length of the input where the request did not end well, as the tool's are.
func rowMetrics(all map[string]tools.Number, r *report.Row) object {
	out := object{}
	if r.Status != report.StatusOK {
		if r.TokensIn != nil {
			out["error_isl"] = object{"value": *r.TokensIn, "unit": "tokens"}
		}
		return out
	}
	for _, t := range tags() {
		if n := all[t.metric]; n != nil {
			if v, ok := n(r); ok {
				out[t.name] = object{"value": v, "unit": t.unit}
			}
		}
	}
	if gaps := tools.GapsMS(r); gaps != nil {
		out["inter_chunk_latency"] = object{"value": gaps, "unit": "ms"}
		out["time_to_second_token"] = object{"value": gaps[0], "unit": "ms"}
	}
	return out
}

func failure(r *report.Row) object {
	kind := r.ErrorClass
	if kind == "" {
		kind = r.Status
	}
	out := object{"type": kind, "message": r.Error}
	if r.HTTPStatus >= 400 {
		out["code"] = r.HTTPStatus
	}
	return out
}
