package load

import (
	"bflow.dev/bflow/tasks/runplan"
)

func (t *translator) nativeData(v value) runplan.Data {
	f := v.fields()
	d := runplan.Data{
		Input: f.get("input").length(), Output: f.get("output").length(),
		FirstInput: f.get("first_input").length(), FirstOutput: f.get("first_output").length(),
		Turns: max(f.get("turns").integer(1), 1), Think: f.get("think").duration(),
		Conversations: f.get("conversations").integer(0), FreshPerStage: f.get("fresh_per_stage").booleanOr(true),
	}
	for _, p := range f.get("prefixes").items() {
		b := p.fields()
		d.Prefixes = append(d.Prefixes, runplan.Prefix{
			Weight: b.numberOr("weight", 1), Count: max(b.get("count").integer(1), 1), Tokens: b.must("tokens").integer(1),
		})
		b.close()
	}
	t.m.Data.Seed = 42
	if seed := f.get("seed"); seed.set() {
		t.m.Data.Seed = seed.seed()
	}
	d.Seed = t.m.Data.Seed
	trace := f.get("trace")
	d.Trace = nativeTrace(trace)
	f.close()
	if d.Input == nil && d.Trace == nil {
		if !v.set() {
			v = t.block
		}
		v.errorf("needs data.input (tokens) or data.trace")
	}
	return d
}

func nativeTrace(v value) *runplan.Trace {
	if !v.set() {
		return nil
	}
	f := v.fields()
	trace := &runplan.Trace{
		Format: traceFormat(f.must("format")), URL: f.must("url").text(), SHA256: f.get("sha256").text(), Limit: f.get("limit").integer(1),
		MaxInput: f.get("max_input").integer(1), TimeScale: f.numberOr("time_scale", 1), From: f.get("from").duration(), To: f.get("to").duration(),
	}
	f.close()
	return trace
}

// traceFormat is the one word for a format that tools name differently.
func traceFormat(v value) string {
	if v.text() == "mooncake_trace" { // aiperf's word
		return "mooncake"
	}
	if word := v.text(); word != "mooncake" && word != "trace_synthetic" {
		v.errorf("%s", notOneOf(word, []string{"mooncake_trace", "mooncake", "trace_synthetic"}))
	}
	return v.text()
}
