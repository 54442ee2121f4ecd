package load

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/runplan"
)

// guideData reads data and data_loader. samples is the number of conversations that a stage uses up; 0 = endless.
func (t *translator) guideData(g guide, load *float64) (d runplan.Data, samples int) {
	v, loader := g.data.expand(load), g.loader.expand(load)
	d = runplan.Data{Turns: 1, FreshPerStage: true}
	samples = guideSamples(loader)
	d.Conversations, d.FreshPerStage = samples, samples == 0
	if !v.set() {
		d.Input, d.Output = fixed(1000), fixed(1000)
		return d, samples
	}
	items := v.items()
	if len(items) == 2 && items[1].fields().get("kind").text() == "synthetic_image" {
		d.Images = t.guideImages(items[1])
		items = items[:1]
	}
	if len(items) != 1 {
		v.needsTool("data of %d sources", len(items))
		return d, samples
	}
	guideSource(items[0], &d, g)
	return d, samples
}

// guideSource reads one source of data.
func guideSource(v value, d *runplan.Data, g guide) {
	f := v.fields()
	if k := f.get("load_kwargs"); k.set() && !isZero(k) {
		k.needsTool("load_kwargs of a dataset")
	}
	switch kind := f.get("kind"); guideDataKind(f, kind) {
	case "synthetic_text":
		readSynthetic(f, d)
	case runplan.TraceMooncake, runplan.TraceSynthetic:
		d.Trace = guideTrace(f, kind.text())
	case "text_file", "csv_file", "json_file", "parquet_file":
		d.File = guideFile(f, kind.text(), g)
	default:
		kind.otherKind("data of kind", append(guideFiles(), "synthetic_text", runplan.TraceMooncake, runplan.TraceSynthetic)...)
		return
	}
	f.close()
}

func guideFiles() []string { return []string{"text_file", "csv_file", "json_file", "parquet_file"} }

// fromFile reports whether prompts come from a file.
func (g guide) fromFile() bool {
	items := g.data.items()
	return len(items) == 1 && slices.Contains(guideFiles(), items[0].fields().get("kind").text())
}

// guideFile reads a file of prompts. The tool's json_file is a JSON object per line.
func guideFile(f *fields, kind string, g guide) *runplan.File {
	format := map[string]string{
		"text_file": runplan.FileText, "csv_file": runplan.FileCSV, "json_file": runplan.FileJSONL, "parquet_file": runplan.FileParquet,
	}[kind]
	file := &runplan.File{Format: format, URL: f.must("path").text(), Shuffle: g.loader.fields().get("shuffle").boolean()}
	mapper := g.mapper.fields()
	mapper.get("kind").word("generative_column_mapper")
	for _, e := range mapper.get("column_mappings").fields().entries {
		switch e.key {
		case "text_column":
			file.PromptColumn = nth(e.value, 0).text()
		case "output_tokens_count_column":
			file.OutputColumn = nth(e.value, 0).text()
		default:
			e.value.needsTool("a mapping of %q", e.key)
		}
	}
	mapper.close()
	return file
}

// guideImages reads made-up images beside made-up text. What they show is the generator's own.
func (t *translator) guideImages(v value) *runplan.Images {
	f := v.fields()
	f.get("kind")
	images := &runplan.Images{Count: f.countOr(1, "images_per_request"), Width: f.get("width").integer(1), Height: f.get("height").integer(1)}
	f.noted("has no effect here: images are random PNG", "format", "jpeg_quality", "content", "seed")
	f.ignore("load_kwargs", "output_tokens", "output_tokens_stdev", "output_tokens_min", "output_tokens_max")
	f.toolOnly("resolution", "aspect_ratio")
	f.close()
	if images.Width == 0 || images.Height == 0 {
		v.needsTool("images without width and height")
	}
	if t.m.API.Type != runplan.APIChat {
		v.needsTool("images in a request that is no chat")
	}
	return images
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
	f.noted("has no effect here: content is made as it is needed", "num_workers")
	f.ignore("shuffle", "prefetch_factor")
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
	for _, name := range []string{"delay_stdev", "delay_min", "delay_max", "tool_call_turns", "server_tool_call_turns", "tools", "branches"} {
		if v := f.get(name); v.set() && !isZero(v) {
			v.needsTool("%q is known to the real tool only", name)
		}
	}
	f.ignore("tool_response_tokens", "tool_response_tokens_stdev", "tool_response_tokens_min", "tool_response_tokens_max")
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
		buckets.errorf("excludes prefix_tokens and prefix_count: remove one of them")
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
		if k := s.get("kind"); k.set() && k.text() != "json_file" {
			k.needsTool("a trace in a source of kind %q", k.text())
			s.ignore("source", "uri", "data", "column_name")
		}
		s.ignore("load_kwargs")
		source = s.get("path", "url")
		s.close()
		if !source.set() {
			return trace
		}
	}
	if trace.URL = source.text(); trace.URL == "" {
		f.at.errorf("needs a source: a path or URL of the recorded file")
	}
	if v := f.get("time_scale"); v.set() {
		trace.TimeScale *= v.positive()
	}
	if copies := f.get("copies").integer(1); copies > 1 {
		trace.Repeat = copies
	}
	if c := f.get("conversation_id_column"); c.text() == "session_id" {
		trace.Turns = runplan.TurnsIdle // the tool's rule, unless the profile says otherwise
	} else if c.set() {
		c.needsTool("a column of conversations other than session_id")
	}
	f.defaultOnly(traceDefaults())
	return trace
}

// traceDefaults are settings of recorded files that the native generator has as they are by default.
func traceDefaults() map[string]string {
	return map[string]string{
		"timestamp_column": "timestamp", "prompt_tokens_column": "input_length", "output_tokens_column": "output_length", "hash_ids_column": "hash_ids",
		"hash_id_block_size": "512", "duration_column": "duration", "copy_offset": "1.0",
		"max_wait": "", "max_session_wait": "", "min_concurrent_sessions": "",
	}
}
