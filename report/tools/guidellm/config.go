package guidellm

import (
	"math"

	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/runplan"
)

// config is the scenario that the report says it was run with: the plan in the words of the tool. What the tool has no
// word for (files of prompts, traces) is described by the lengths that were seen.
func config(run tools.Run, ms []tools.Measurement) object {
	m := &ms[0]
	labels := object{"exported_by": tools.ExportedBy, "run": run.Report.Run.ID, "tool": m.Tool, "token_count_source": m.TokenCountSource}
	if v := run.Report.Run.BflowVersion; v != "" {
		labels["bflow_version"] = v
	}
	if p := run.Report.Plan; p != nil {
		labels["plan_hash"] = p.Hash
	}
	return object{
		"metadata": object{"labels": labels},
		"spec": object{
			"backend":            backend(run, m),
			"profile":            profile(m),
			"constraints":        constraintList(m.Stages[0].Planned),
			"tokenizer":          object{"kind": "huggingface_auto", "model": modelOf(run), "load_kwargs": object{}},
			"data":               []object{syntheticData(m)},
			"data_column_mapper": object{"kind": "generative_column_mapper", "column_mappings": nil},
			"data_preprocessors": []object{{"kind": "encode_media", "audio_kwargs": object{}, "image_kwargs": object{}, "video_kwargs": object{}}},
			"data_finalizer":     object{"kind": "generative", "tool_call_mode": "client"},
			"data_loader":        dataLoader(),
			"seed":               object{"kind": "static", "value": m.Plan.Data.Seed},
			"outputs":            []object{{"kind": "json", "path": "benchmarks.json"}},
			"metrics": object{"kind": "generative", "warnings": []object{}, "sample_size": nil, "prefer_response_metrics": true,
				"confidence": nil, "slo": objectives(run, m)},
		},
		"benchmarks": []any{nil},
	}
}

func modelOf(run tools.Run) string {
	_, model := tools.Target(run.Report)
	return model
}

func dataLoader() object {
	return object{"kind": "pytorch", "samples": -1, "shuffle": false, "num_workers": 1, "prefetch_factor": 4096}
}

// backend never holds headers, keys or bodies: any of them may carry a credential.
func backend(run tools.Run, m *tools.Measurement) object {
	url, model := tools.Target(run.Report)
	routes := object{}
	for path, route := range map[string]string{"/health": "health", "/v1/models": "v1/models", "/v1/completions": "v1/completions",
		"/v1/chat/completions": "v1/chat/completions", "/v1/embeddings": "v1/embeddings", "/v1/responses": "v1/responses",
		"/v1/audio/transcriptions": "v1/audio/transcriptions", "/v1/audio/translations": "v1/audio/translations", "/pooling": "pooling"} {
		routes[path] = route
	}
	var timeout any
	if t := m.Plan.API.Timeout; t > 0 {
		timeout = t.Seconds()
	}
	return object{"kind": "openai_http", "target": url, "model": model, "request_format": requestFormat(m.Plan.API.Type), "api_key": nil,
		"api_routes": routes, "timeout": timeout, "timeout_connect": 5.0, "http2": m.Plan.API.HTTP2, "follow_redirects": true,
		"verify": m.Plan.API.VerifyTLS, "validate_backend": true, "stream": m.Plan.API.Stream, "extras": nil, "max_tokens": nil,
		"server_history": false, "tool_call_missing_behavior": "error_stop", "multiturn_reasoning": false}
}

// requestFormat is the route of an API; the tool has none for those of Anthropic, Triton and TGI, which are chats to it.
func requestFormat(api string) string {
	switch api {
	case runplan.APICompletions:
		return "/v1/completions"
	case runplan.APIResponses:
		return "/v1/responses"
	case runplan.APIEmbeddings:
		return "/v1/embeddings"
	}
	return "/v1/chat/completions"
}

func noTrim() object { return object{"percent": nil, "value": nil, "mode": "prefer_duration"} }

// trim is what is left out at one end of a stage. A share is one of the duration, or of the requests where only those
// bound the stage: that is what the tool prefers too.
func trim(t runplan.Trim) object {
	out := noTrim()
	switch {
	case t.Share > 0:
		out["percent"] = t.Share
	case t.Duration > 0:
		out["value"], out["mode"] = t.Duration.Seconds(), "duration"
	case t.Requests > 0:
		out["value"], out["mode"] = float64(t.Requests), "requests"
	}
	return out
}

// profile is the kind of the first stage with the load values of all stages of that kind.
func profile(m *tools.Measurement) object {
	first := m.Stages[0].Planned
	out := object{"kind": strategyKind(first), "rampup_duration": first.Ramp.Seconds(), "warmup": trim(first.SkipFirst), "cooldown": trim(first.SkipLast)}
	switch out["kind"] {
	case "concurrent":
		var streams []int
		for _, s := range m.Stages {
			streams = append(streams, max(1, s.Planned.Concurrency))
		}
		out["streams"] = streams
	case "throughput":
		out["max_concurrency"] = positive(first.MaxInflight)
	case "trace":
		out["kind"], out["time_scale"], out["schedule_turn"] = "replay", 1.0, "timestamp"
	default:
		var rates []float64
		for i := range m.Stages {
			if r := rateOf(&m.Stages[i]); r > 0 {
				rates = append(rates, r)
			}
		}
		out["rate"], out["max_concurrency"] = rates, positive(first.MaxInflight)
	}
	return out
}

// rateOf is the rate in force, which earlier stages may have found.
func rateOf(s *tools.Stage) float64 {
	if s.Rate > 0 {
		return s.Rate
	}
	return s.Planned.Rate
}

func positive(n int) any {
	if n > 0 {
		return n
	}
	return nil
}

// strategyKind is the tool's name of a shape. A gamma arrival is random to it, so poisson.
func strategyKind(s runplan.Stage) string {
	switch s.Shape {
	case runplan.ShapeClosed:
		return "concurrent"
	case runplan.ShapeThroughput:
		return "throughput"
	case runplan.ShapeTrace:
		return "trace"
	}
	if s.Arrival == "constant" {
		return "constant"
	}
	return "poisson"
}

func strategy(s *tools.Stage) object {
	p := s.Planned
	out := object{"type_": strategyKind(p), "worker_count": 1, "max_concurrency": positive(p.MaxInflight)}
	switch out["type_"] {
	case "concurrent":
		n := max(1, p.Concurrency)
		out["streams"], out["max_concurrency"], out["rampup_duration"] = n, n, p.Ramp.Seconds()
	case "throughput":
		out["rampup_duration"] = p.Ramp.Seconds()
	case "constant":
		out["rate"], out["rampup_duration"] = rateOf(s), p.Ramp.Seconds()
	case "poisson":
		out["rate"] = rateOf(s)
	case "trace":
		out["time_scale"], out["schedule_turn"] = 1.0, "timestamp"
	}
	return out
}

func constraintList(s runplan.Stage) []object {
	out := []object{}
	if s.Duration > 0 {
		out = append(out, object{"kind": "max_duration", "stopping_scope": "current", "seconds": s.Duration.Seconds()})
	}
	if s.Requests > 0 {
		out = append(out, object{"kind": "max_requests", "stopping_scope": "current", "count": s.Requests})
	}
	return out
}

func constraints(s runplan.Stage) object {
	out := object{}
	for _, c := range constraintList(s) {
		kind := c["kind"].(string)
		out[kind] = object{"type_": kind, "args": c, "current_index": 0}
	}
	return out
}

// objectives are those of the tool: goodput by ttft, tpot and e2e.
func objectives(run tools.Run, m *tools.Measurement) any {
	if run.Report.Plan == nil {
		return nil
	}
	slo := run.Report.Plan.Objectives(m.Index)
	if slo == nil || slo.Goodput == nil {
		return nil
	}
	g := slo.Goodput
	out, set := object{"ttft_ms": nil, "tpot_ms": nil, "e2el_ms": nil}, false
	for name, d := range map[string]runplan.Duration{"ttft_ms": g.TTFT, "tpot_ms": g.TPOT, "e2el_ms": g.E2E} {
		if d > 0 {
			out[name], set = d.Seconds()*1e3, true
		}
	}
	if !set {
		return nil
	}
	return out
}

func syntheticData(m *tools.Measurement) object {
	out := object{"kind": "synthetic_text", "load_kwargs": object{}, "delay": nil, "delay_stdev": nil, "delay_min": nil, "delay_max": nil,
		"turns": max(1, m.Plan.Data.Turns), "tool_call_turns": []any{}, "tools": nil, "tool_response_tokens": nil,
		"tool_response_tokens_stdev": nil, "tool_response_tokens_min": nil, "tool_response_tokens_max": nil,
		"server_tool_call_turns": []any{}, "branches": []any{}, "prefix_buckets": prefixes(m.Plan.Data.Prefixes)}
	d := m.Plan.Data
	length(out, "prompt_tokens", d.Input, seen(m, "tokens_in"))
	length(out, "output_tokens", d.Output, nil)
	length(out, "first_prompt_tokens", d.FirstInput, nil)
	length(out, "first_output_tokens", d.FirstOutput, nil)
	return out
}

func prefixes(buckets []runplan.Prefix) any {
	if len(buckets) == 0 {
		return nil
	}
	out := []object{}
	for _, b := range buckets {
		out = append(out, object{"bucket_weight": max(1, int(math.Round(b.Weight))), "prefix_count": max(1, b.Count), "prefix_tokens": b.Tokens})
	}
	return out
}

// seen is the mean length that was measured, nil where none was.
func seen(m *tools.Measurement, metric string) *runplan.Length {
	for i := range m.Stages {
		if v, ok := m.Stages[i].Metrics[metric]; ok && v.Mean >= 1 {
			return &runplan.Length{Mean: v.Mean}
		}
	}
	return &runplan.Length{Mean: 1} // the tool wants a length
}

func length(out object, name string, l, otherwise *runplan.Length) {
	if l == nil {
		l = otherwise
	}
	for _, part := range []string{"", "_stdev", "_min", "_max"} {
		out[name+part] = nil
	}
	if l == nil {
		return
	}
	out[name] = max(1, int(math.Round(l.Mean)))
	out[name+"_stdev"], out[name+"_min"], out[name+"_max"] = positive(int(math.Round(l.Stdev))), positive(l.Min), positive(l.Max)
}
