package inferenceperf

import (
	"context"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

// failures counts what did not end well under the class of its error; the tool has its label of the status there.
func (t *totals) failures(ctx context.Context) object {
	bad := 0
	for _, s := range t.stages {
		c := s.Counts.ByStatus
		bad += c[report.StatusFailed] + c[report.StatusTimeout] + c[report.StatusEmpty]
	}
	took, prompts := report.NewDistribution("s"), report.NewDistribution("tokens")
	labels, counts := map[string]object{}, map[string]int{}
	for r := range t.requests() {
		if !failed(r) {
			continue
		}
		if r.TSend != nil && r.TEnd != nil {
			took.Add(float64(*r.TEnd-*r.TSend) / 1e9)
		}
		if r.TokensIn != nil {
			prompts.Add(float64(*r.TokensIn))
		}
		counts[class(r)]++
	}
	for label, n := range counts {
		labels[label] = object{"count": n, "messages": []object{}}
	}
	t.messages(ctx, labels)
	tokens := object{"total": 0.0, "cached": 0.0, "uncached": 0.0}
	if m, ok := prompts.Metric(); ok {
		tokens = summary(m, 1)
		tokens["total"], tokens["cached"], tokens["uncached"] = m.Sum, 0.0, m.Sum
	}
	return object{"count": bad, "request_latency": statistics(took, 1), "prompt_tokens": tokens, "by_label": labels}
}

// messages gives each label the first text of an error that there is.
func (t *totals) messages(ctx context.Context, labels map[string]object) {
	found := map[string]bool{}
	for _, s := range t.stages {
		for r, err := range s.Requests.Only(failed).All(ctx) {
			if err != nil {
				t.err = err
				return
			}
			if label := class(r); r.Error != "" && !found[label] {
				found[label] = true
				labels[label]["messages"] = []object{{"message": r.Error}}
			}
			if len(found) == len(labels) {
				return
			}
		}
	}
}

func failed(r *report.Row) bool {
	return r.Status == report.StatusFailed || r.Status == report.StatusTimeout || r.Status == report.StatusEmpty
}

func class(r *report.Row) string {
	if r.ErrorClass != "" {
		return r.ErrorClass
	}
	return r.Status
}

// perRequest is one request. Times are s on the monotonic clock of the measurement, as the tool's are. Prompts and
// answers are not kept.
func perRequest(numbers map[string]tools.Number, stage int, r *report.Row) object {
	usage := object{}
	if r.TokensIn != nil {
		usage["prompt_tokens"] = *r.TokensIn
	}
	if r.TokensOut != nil {
		usage["completion_tokens"] = *r.TokensOut
		usage["total_tokens"] = *r.TokensOut + value(r.TokensIn)
	}
	times, which := eventTimes(r)
	info := object{
		"request_metrics": object{"text": object{"input_tokens": value(r.TokensIn)}, "image": nil, "video": nil, "audio": nil},
		"response_metrics": object{"output_tokens": value(r.TokensOut), "server_usage": usage, "response_chunks": []string{},
			"chunk_times": times, "output_token_times": times},
		"extra_info":   object{"stage": stage, "request_id": r.ID, "times": which, "exported_by": tools.ExportedBy},
		"lora_adapter": nil, "graph_event_id": nil, "labels": object{}, "input_tokens": value(r.TokensIn),
	}
	out := object{"start_time": at(r.TSend, &r.TIntended), "end_time": at(r.TEnd, r.TLast, r.TSend, &r.TIntended), "request": "", "response": "",
		"info": info, "error": nil, "computed_metrics": computed(numbers, r)}
	if r.Status != report.StatusOK {
		out["error"] = object{"error_type": class(r), "error_msg": r.Error}
	}
	return out
}

// ends says that of the stamps of events only the first and the last are known.
const ends = "first and last token"

// eventTimes are the stamps of token events in s: all where the gaps were recorded.
func eventTimes(r *report.Row) (times []float64, which string) {
	times = []float64{}
	if r.TFirst == nil {
		return times, ends
	}
	times = append(times, float64(*r.TFirst)/1e9)
	at := *r.TFirst
	for _, g := range r.Gaps {
		at += int64(g) * 1e3
		times = append(times, float64(at)/1e9)
	}
	switch {
	case r.TLast == nil:
	case len(r.Gaps) > 0:
		times[len(times)-1] = float64(*r.TLast) / 1e9
		return times, "every token event"
	default:
		times = append(times, float64(*r.TLast)/1e9)
	}
	return times, ends
}

func at(stamps ...*int64) float64 {
	for _, t := range stamps {
		if t != nil {
			return float64(*t) / 1e9
		}
	}
	return 0
}

func value(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// computed are the latencies of the request in s; what does not exist is left out.
func computed(numbers map[string]tools.Number, r *report.Row) object {
	out := object{}
	for key, metric := range map[string]string{"request_latency": "e2e", "time_to_first_token": "ttfc", "time_per_output_token": "tpot",
		"normalized_time_per_output_token": "ntpot"} {
		if v, ok := numbers[metric](r); ok {
			out[key] = v / 1e3
		}
	}
	for key, n := range map[string]*int{"input_tokens": r.TokensIn, "output_tokens": r.TokensOut} {
		if n != nil {
			out[key] = *n
		}
	}
	return out
}
