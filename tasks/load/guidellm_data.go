package load

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/tasks/runplan"
)

// guideData reads data and data_loader. samples is the number of conversations that a stage uses up; 0 = endless.
func (t *translator) guideData(v, loader value) (d runplan.Data, samples int) {
	d = runplan.Data{Turns: 1, FreshPerStage: true}
	samples = guideSamples(loader)
	d.Conversations, d.FreshPerStage = samples, samples == 0
	if !v.set() {
		d.Input, d.Output = fixed(1000), fixed(1000)
		return d, samples
	}
	if items := v.items(); v.is(yaml.SequenceNode) {
		if len(items) != 1 {
			v.needsTool("data of %d sources", len(items))
			return d, samples
		}
		v = items[0]
	}
	f := v.fields()
	switch kind := f.get("kind"); guideDataKind(f, kind) {
	case "synthetic_text":
		readSynthetic(f, &d)
	case "mooncake", "trace_synthetic":
		d.Trace = guideTrace(f, kind.text())
	default:
		kind.otherKind("data of kind", "synthetic_text", "mooncake", "trace_synthetic")
		return d, samples
	}
	f.close()
	return d, samples
}

// guideDataKind is the kind, in the absence of which prompt_tokens means synthetic text.
func guideDataKind(f *fields, kind value) string {
	if _, ok := f.entry("prompt_tokens"); ok && !kind.set() {
		return "synthetic_text"
	}
	if !kind.set() {
		f.must("kind")
		return "synthetic_text"
	}
	return kind.text()
}

func guideSamples(loader value) int {
	f := loader.fields()
	f.get("kind").word("pytorch")
	n := f.get("samples").integer(-1)
	f.noted("has no effect here: content is made as it is needed", "shuffle", "num_workers")
	f.close()
	return max(n, 0)
}

func readSynthetic(f *fields, d *runplan.Data) {
	d.Input = prefixedLength(f, "prompt_tokens")
	if d.Input == nil {
		f.must("prompt_tokens")
	}
	d.Output = prefixedLength(f, "output_tokens")
	d.FirstInput = prefixedLength(f, "first_prompt_tokens")
	d.FirstOutput = prefixedLength(f, "first_output_tokens")
	if v := f.get("turns"); v.set() {
		d.Turns = max(v.integer(1), 1)
	}
	d.Think = f.get("delay").seconds(time.Second)
	d.Prefixes = guidePrefixes(f)
	if n := f.get("samples"); n.set() { // up to 0.3: prompts repeat after that many
		d.Conversations, d.Reuse = n.integer(1), true
	}
	for _, name := range []string{"delay_stdev", "delay_min", "delay_max", "tool_call_turns", "tools", "branches"} {
		if v := f.get(name); v.set() && !isZero(v) {
			v.needsTool("%q is known to the real tool only", name)
		}
	}
	f.noted("has no effect here: text is made up", "source")
}

// isZero reports a value that asks for nothing: 0, false, or empty.
func isZero(v value) bool {
	if !v.is(yaml.ScalarNode) {
		return len(v.node.Content) == 0
	}
	return slices.Contains([]string{"0", "0.0", "false", ""}, v.text())
}

func guidePrefixes(f *fields) []runplan.Prefix {
	buckets, tokens, count := f.get("prefix_buckets"), f.get("prefix_tokens"), f.get("prefix_count")
	if buckets.set() && (tokens.set() || count.set()) {
		buckets.errorf("takes the place of prefix_tokens and prefix_count: remove one of them")
	}
	if !buckets.set() {
		if n := tokens.integer(0); n > 0 {
			return []runplan.Prefix{{Weight: 100, Count: max(count.integer(1), 1), Tokens: n}}
		}
		return nil
	}
	var out []runplan.Prefix
	for _, item := range buckets.items() {
		b := item.fields()
		out = append(out, runplan.Prefix{Weight: b.numberOr("bucket_weight", 100), Count: max(b.get("prefix_count").integer(1), 1), Tokens: b.get("prefix_tokens").integer(0)})
		b.close()
	}
	return out
}

// guideTrace reads a recorded file. The tool takes every time in it as seconds; format mooncake is in
// milliseconds, so that its scale is a thousand times ours.
func guideTrace(f *fields, kind string) *runplan.Trace {
	trace := &runplan.Trace{Format: kind, TimeScale: 1}
	if kind == "mooncake" {
		trace.TimeScale = 1000
	}
	source := f.get("source")
	if !source.set() {
		source = f.get("path", "url")
	} else if source.is(yaml.MappingNode) {
		s := source.fields()
		s.ignore("kind")
		source = s.get("path", "url")
		s.close()
	}
	if trace.URL = source.text(); trace.URL == "" {
		f.at.errorf("needs a source: a path or URL of the recorded file")
	}
	if v := f.get("time_scale"); v.set() {
		trace.TimeScale *= v.positive()
	}
	for _, e := range f.entries {
		if !f.taken[e.key] && slices.Contains(traceWords(), e.key) {
			f.toolOnly(e.key)
		}
	}
	return trace
}

func traceWords() []string {
	return []string{
		"timestamp_column", "prompt_tokens_column", "output_tokens_column", "hash_ids_column", "max_wait", "max_session_wait",
		"min_concurrent_sessions", "copies", "copy_offset",
	}
}
