package guidellm

import (
	"encoding/json"
	"math"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/runplan"
)

// scenarioOf is what the report says it was run with: the plan in the words of the tool. What the tool has no word for
// (files of prompts, traces) is described by the lengths that were measured.
func scenarioOf(run tools.Run, ms []tools.Measurement) scenario2 {
	m := &ms[0]
	labels := map[string]string{"exported_by": tools.ExportedBy, "run": run.Report.Run.ID, "tool": m.Tool,
		"token_count_source": m.TokenCountSource}
	if v := run.Report.Run.BflowVersion; v != "" {
		labels["bflow_version"] = v
	}
	if p := run.Report.Plan; p != nil {
		labels["plan_hash"] = p.Hash
	}
	_, model := tools.Target(run.Report)
	return scenario2{
		Metadata: labels2{Labels: labels},
		Spec: specification2{
			Backend:      backend(run, m),
			Profile:      profileOf(m),
			Constraints:  constraintList(m.Stages[0].Planned),
			Tokenizer:    tokenizer2{Kind: "huggingface_auto", Model: model, LoadArgs: tools.Free{}},
			Data:         []synthetic2{syntheticData(m)},
			ColumnMapper: columnMapper2{Kind: "generative_column_mapper"},
			Preprocessors: []preprocessor2{{Kind: "encode_media", Audio: tools.Free{}, Image: tools.Free{},
				Video: tools.Free{}}},
			Finalizer: finalizer2{Kind: "generative", ToolCallMode: "client"},
			Loader:    dataLoader(),
			Seed:      seed2{Kind: "static", Value: m.Plan.Data.Seed},
			Outputs:   []output2{{Kind: "json", Path: reportFile}},
			Metrics: measuring2{Kind: "generative", Warnings: []json.RawMessage{}, PreferResponse: true,
				SLO: objectives(run, m)},
		},
		Benchmarks: []tools.Null{nil},
	}
}

func dataLoader() loader2 {
	return loader2{Kind: "pytorch", Samples: -1, Workers: 1, Prefetch: 4096}
}

// backend never holds headers, keys or bodies: any of them may carry a credential.
func backend(run tools.Run, m *tools.Measurement) backend2 {
	url, model := tools.Target(run.Report)
	out := backend2{Kind: "openai_http", Target: url, Model: model, Format: requestFormat(m.Plan.API.Type),
		Routes: map[string]string{"/health": "health", "/v1/models": "v1/models", "/v1/completions": "v1/completions",
			"/v1/chat/completions": "v1/chat/completions", "/v1/embeddings": "v1/embeddings", "/v1/responses": "v1/responses",
			"/v1/audio/transcriptions": "v1/audio/transcriptions", "/v1/audio/translations": "v1/audio/translations",
			"/pooling": "pooling"},
		ConnectTimeout: 5, HTTP2: m.Plan.API.HTTP2, FollowRedirects: true, VerifyCertificate: m.Plan.API.VerifyTLS,
		ValidateBackend: true, Stream: &m.Plan.API.Stream, ToolCallMissing: "error_stop"}
	if t := m.Plan.API.Timeout; t > 0 {
		out.Timeout = new(t.Seconds())
	}
	return out
}

// requestFormat is the route of an API. The tool has none for those of Anthropic, Triton and TGI: they are chats to it.
func requestFormat(api string) string {
	if api == runplan.APIMessages {
		api = runplan.APIChat
	}
	return tool.RequestPath(api)
}

// trim is what is left out at one end of a stage. A share is one of the duration, or of the requests where only those
// bound the stage: that is what the tool prefers too.
func trim(t runplan.Trim) trim2 {
	switch {
	case t.Share > 0:
		return trim2{Percent: &t.Share, Mode: "prefer_duration"}
	case t.Duration > 0:
		return trim2{Value: new(t.Duration.Seconds()), Mode: "duration"}
	case t.Requests > 0:
		return trim2{Value: new(float64(t.Requests)), Mode: "requests"}
	}
	return trim2{Mode: "prefer_duration"}
}

// profileOf is the kind of the first stage with the load values of all stages of that kind.
func profileOf(m *tools.Measurement) profile2 {
	first := m.Stages[0].Planned
	out := profile2{Kind: strategyKind(first), Rampup: first.Ramp.Seconds(), Warmup: trim(first.SkipFirst),
		Cooldown: trim(first.SkipLast)}
	switch out.Kind {
	case "concurrent":
		for _, s := range m.Stages {
			out.Streams = append(out.Streams, max(1, s.Planned.Concurrency))
		}
	case "throughput":
		out.MaxConcurrency = tools.Some(positive(first.MaxInflight))
	case "trace":
		out.Kind, out.TimeScale, out.ScheduleTurn = "replay", new(1.0), "timestamp"
	default:
		var rates []float64
		for i := range m.Stages {
			if r := rateOf(&m.Stages[i]); r > 0 {
				rates = append(rates, r)
			}
		}
		out.Rate, out.MaxConcurrency = tools.Some(&rates), tools.Some(positive(first.MaxInflight))
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

// positive returns nil for a number that stands for none.
func positive(n int) *int {
	if n > 0 {
		return &n
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

func strategy(s *tools.Stage) strategy2 {
	p := s.Planned
	out := strategy2{Type: strategyKind(p), Workers: 1, MaxConcurrency: positive(p.MaxInflight)}
	rampup, rate := p.Ramp.Seconds(), rateOf(s)
	switch out.Type {
	case "concurrent":
		n := max(1, p.Concurrency)
		out.Streams, out.MaxConcurrency, out.Rampup = &n, &n, &rampup
	case "throughput":
		out.Rampup = &rampup
	case "constant":
		out.Rate, out.Rampup = &rate, &rampup
	case "poisson":
		out.Rate = &rate
	case "trace":
		out.TimeScale, out.ScheduleTurn = new(1.0), "timestamp"
	}
	return out
}

func constraintList(s runplan.Stage) []constraint2 {
	out := []constraint2{}
	if s.Duration > 0 {
		out = append(out, constraint2{Kind: "max_duration", Scope: "current", Seconds: new(s.Duration.Seconds())})
	}
	if s.Requests > 0 {
		out = append(out, constraint2{Kind: "max_requests", Scope: "current", Count: &s.Requests})
	}
	return out
}

func constraints(s runplan.Stage) map[string]constraintState2 {
	out := map[string]constraintState2{}
	for _, c := range constraintList(s) {
		out[c.Kind] = constraintState2{Type: c.Kind, Args: c}
	}
	return out
}

// objectives are those of the tool: goodput by ttft, tpot and e2e.
func objectives(run tools.Run, m *tools.Measurement) *slo2 {
	if run.Report.Plan == nil {
		return nil
	}
	slo := run.Report.Plan.Objectives(m.Index)
	if slo == nil || slo.Goodput == nil {
		return nil
	}
	limit := func(d runplan.Duration) *float64 {
		if d <= 0 {
			return nil
		}
		return new(d.Seconds() * 1e3)
	}
	g := slo.Goodput
	out := slo2{TTFT: limit(g.TTFT), TPOT: limit(g.TPOT), E2E: limit(g.E2E)}
	if out == (slo2{}) {
		return nil
	}
	return &out
}

func syntheticData(m *tools.Measurement) synthetic2 {
	d := m.Plan.Data
	out := synthetic2{Kind: "synthetic_text", LoadArgs: tools.Free{}, Turns: max(1, d.Turns),
		ToolCallTurns: []json.RawMessage{}, ServerToolCallTurns: []json.RawMessage{}, Branches: []json.RawMessage{},
		Prefixes: prefixes(d.Prefixes)}
	input := d.Input
	if input == nil {
		input = measuredInput(m)
	}
	in, firstIn := lengthOf(input), lengthOf(d.FirstInput)
	out.Prompt, out.PromptStdev, out.PromptMin = in.mean, in.stdev, in.min
	out.PromptMax = in.max
	out.FirstPrompt, out.FirstPromptStdev, out.FirstPromptMin = firstIn.mean, firstIn.stdev, firstIn.min
	out.FirstPromptMax = firstIn.max
	answer, firstAnswer := lengthOf(d.Output), lengthOf(d.FirstOutput)
	out.Output, out.OutputStdev, out.OutputMin = answer.mean, answer.stdev, answer.min
	out.OutputMax = answer.max
	out.FirstOutput, out.FirstOutputStdev, out.FirstOutputMin = firstAnswer.mean, firstAnswer.stdev, firstAnswer.min
	out.FirstOutputMax = firstAnswer.max
	return out
}

func prefixes(buckets []runplan.Prefix) (out []prefix2) {
	for _, b := range buckets {
		out = append(out, prefix2{Weight: max(1, int(math.Round(b.Weight))), Count: max(1, b.Count), Tokens: b.Tokens})
	}
	return out
}

// measuredInput is the mean length of the prompts. The tool wants a length: it is 1 where none was measured.
func measuredInput(m *tools.Measurement) *runplan.Length {
	for i := range m.Stages {
		if v, ok := m.Stages[i].Metrics["tokens_in"]; ok && v.Mean >= 1 {
			return &runplan.Length{Mean: v.Mean}
		}
	}
	return &runplan.Length{Mean: 1}
}

// length is a length in whole tokens; nil is what is not said.
type length struct{ mean, stdev, min, max *int }

func lengthOf(l *runplan.Length) length {
	if l == nil {
		return length{}
	}
	return length{mean: positive(max(1, int(math.Round(l.Mean)))), stdev: positive(int(math.Round(l.Stdev))),
		min: positive(l.Min), max: positive(l.Max)}
}
