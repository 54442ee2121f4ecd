package guidellm

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/runplan"
)

// readData reads data and data_loader. samples is the number of conversations that a stage uses up; 0 = endless.
func readData(d *tool.Draft, g block, load *float64) (data runplan.Data, samples int) {
	v, loader := g.data.Expand(load), g.loader.Expand(load)
	data = runplan.Data{Turns: 1, FreshPerStage: true}
	samples = readSamples(loader)
	data.Conversations, data.FreshPerStage = samples, samples == 0
	if !v.IsSet() {
		data.Input, data.Output = tool.FixedLength(1000), tool.FixedLength(1000)
		return data, samples
	}
	items := v.Items()
	if len(items) == 2 && items[1].Fields().Get("kind").Text() == "synthetic_image" {
		data.Images = readImages(d, items[1])
		items = items[:1]
	}
	if len(items) != 1 {
		v.NeedsTool("data of %d sources", len(items))
		return data, samples
	}
	readSource(items[0], &data, g)
	return data, samples
}

// readSource reads one source of data.
func readSource(v tool.Value, d *runplan.Data, g block) {
	f := v.Fields()
	if k := f.Get("load_kwargs"); k.IsSet() && !k.IsEmpty() {
		k.NeedsTool("load_kwargs of a dataset")
	}
	switch kind := f.Get("kind"); dataKind(f, kind) {
	case "synthetic_text":
		readSynthetic(f, d)
	case runplan.TraceMooncake, runplan.TraceSynthetic:
		d.Trace = readTrace(f, kind.Text())
	case "text_file", "csv_file", "json_file", "parquet_file":
		d.File = readFile(f, kind.Text(), g)
	default:
		native := append(dataFileKinds(), "synthetic_text", runplan.TraceMooncake, runplan.TraceSynthetic)
		kind.OtherKind("data of kind", native...)
		return
	}
	f.Close()
}

func dataFileKinds() []string { return []string{"text_file", "csv_file", "json_file", "parquet_file"} }

// fromFile reports whether prompts come from a file.
func (g block) fromFile() bool {
	items := g.data.Items()
	return len(items) == 1 && slices.Contains(dataFileKinds(), items[0].Fields().Get("kind").Text())
}

// readFile reads a file of prompts. The tool's json_file is a JSON object per line.
func readFile(f *tool.Fields, kind string, g block) *runplan.File {
	format := map[string]string{
		"text_file": runplan.FileText, "csv_file": runplan.FileCSV,
		"json_file": runplan.FileJSONL, "parquet_file": runplan.FileParquet,
	}[kind]
	file := &runplan.File{Format: format, URL: f.Must("path").Text(), Shuffle: g.loader.Fields().Get("shuffle").Bool()}
	mapper := g.mapper.Fields()
	mapper.Get("kind").Word("generative_column_mapper")
	for _, e := range mapper.Get("column_mappings").Fields().Entries {
		switch e.Key {
		case "text_column":
			file.PromptColumn = tool.Nth(e.Value, 0).Text()
		case "output_tokens_count_column":
			file.OutputColumn = tool.Nth(e.Value, 0).Text()
		default:
			e.Value.NeedsTool("a mapping of %q", e.Key)
		}
	}
	mapper.Close()
	return file
}

// readImages reads made-up images beside made-up text. What they show is the generator's own.
func readImages(d *tool.Draft, v tool.Value) *runplan.Images {
	f := v.Fields()
	f.Get("kind")
	images := &runplan.Images{Count: f.CountOr(1, "images_per_request"), Width: f.Get("width").Integer(1),
		Height: f.Get("height").Integer(1)}
	f.Noted("has no effect here: images are random PNG", "format", "jpeg_quality", "content", "seed")
	f.Ignore("load_kwargs", "output_tokens", "output_tokens_stdev", "output_tokens_min", "output_tokens_max")
	f.ToolOnly("resolution", "aspect_ratio")
	f.Close()
	if images.Width == 0 || images.Height == 0 {
		v.NeedsTool("images without width and height")
	}
	if d.API.Type != runplan.APIChat {
		v.NeedsTool(tool.ImagesWithoutChat)
	}
	return images
}

// dataKind is the kind, in the absence of which prompt_tokens means synthetic text.
func dataKind(f *tool.Fields, kind tool.Value) string {
	if f.Has("prompt_tokens") && !kind.IsSet() {
		return "synthetic_text"
	}
	if !kind.IsSet() {
		f.Must("kind")
		return "synthetic_text"
	}
	return kind.Text()
}

func readSamples(loader tool.Value) int {
	f := loader.Fields()
	f.Get("kind").Word("pytorch")
	n := f.Get("samples").Integer(-1)
	f.Noted("has no effect here: content is made as it is needed", "num_workers")
	f.Ignore("shuffle", "prefetch_factor")
	f.Close()
	return max(n, 0)
}

func readSynthetic(f *tool.Fields, d *runplan.Data) {
	d.Input = tool.ReadLength(f, "prompt_tokens")
	if d.Input == nil {
		f.Must("prompt_tokens")
	}
	d.Output = tool.ReadLength(f, "output_tokens")
	d.FirstInput = tool.ReadLength(f, "first_prompt_tokens")
	d.FirstOutput = tool.ReadLength(f, "first_output_tokens")
	if v := f.Get("turns"); v.IsSet() {
		d.Turns = max(v.Integer(1), 1)
	}
	d.Think = f.Get("delay").Seconds(time.Second)
	d.Prefixes = readPrefixes(f)
	if n := f.Get("samples"); n.IsSet() { // up to 0.3: prompts repeat after that many
		d.Conversations, d.Reuse = n.Integer(1), true
	}
	for _, name := range []string{"delay_stdev", "delay_min", "delay_max", "tool_call_turns", "server_tool_call_turns",
		"tools", "branches"} {
		if v := f.Get(name); v.IsSet() && !v.IsEmpty() {
			v.KnownToTool(name)
		}
	}
	f.Ignore("tool_response_tokens", "tool_response_tokens_stdev", "tool_response_tokens_min", "tool_response_tokens_max")
	f.Noted("has no effect here: text is made up", "source")
}

func readPrefixes(f *tool.Fields) []runplan.Prefix {
	buckets, tokens, count := f.Get("prefix_buckets"), f.Get("prefix_tokens"), f.Get("prefix_count")
	if buckets.IsSet() && (tokens.IsSet() || count.IsSet()) {
		buckets.Errorf("excludes prefix_tokens and prefix_count: remove one of them")
	}
	if !buckets.IsSet() {
		if n := tokens.Integer(0); n > 0 {
			return []runplan.Prefix{{Weight: 100, Count: max(count.Integer(1), 1), Tokens: n}}
		}
		return nil
	}
	var out []runplan.Prefix
	for _, item := range buckets.Items() {
		b := item.Fields()
		out = append(out, runplan.Prefix{Weight: b.NumberOr("bucket_weight", 100),
			Count: max(b.Get("prefix_count").Integer(1), 1), Tokens: b.Get("prefix_tokens").Integer(0)})
		b.Close()
	}
	return out
}

// readTrace reads a recorded file. The tool takes every time in it as seconds; format mooncake is in
// milliseconds, so that its scale is a thousand times ours.
func readTrace(f *tool.Fields, kind string) *runplan.Trace {
	trace := &runplan.Trace{Format: kind, TimeScale: 1}
	if kind == "mooncake" {
		trace.TimeScale = 1000
	}
	source := f.Get("source")
	if !source.IsSet() {
		source = f.Get("path", "url")
	} else if source.Is(yaml.MappingNode) {
		s := source.Fields()
		if k := s.Get("kind"); k.IsSet() && k.Text() != "json_file" {
			k.NeedsTool("a trace in a source of kind %q", k.Text())
			s.Ignore("source", "uri", "data", "column_name")
		}
		s.Ignore("load_kwargs")
		source = s.Get("path", "url")
		s.Close()
		if !source.IsSet() {
			return trace
		}
	}
	if trace.URL = source.Text(); trace.URL == "" {
		f.At.Errorf("needs a source: a path or URL of the recorded file")
	}
	if v := f.Get("time_scale"); v.IsSet() {
		trace.TimeScale *= v.Positive()
	}
	if copies := f.Get("copies").Integer(1); copies > 1 {
		trace.Repeat = copies
	}
	if c := f.Get("conversation_id_column"); c.Text() == "session_id" {
		trace.Turns = runplan.TurnsIdle // the tool's rule, unless the profile says otherwise
	} else if c.IsSet() {
		c.NeedsTool("a column of conversations other than session_id")
	}
	f.DefaultOnly(traceDefaults())
	return trace
}

// traceDefaults are settings of recorded files that the native generator has as they are by default.
func traceDefaults() map[string]string {
	return map[string]string{
		"timestamp_column": "timestamp", "prompt_tokens_column": "input_length", "output_tokens_column": "output_length",
		"hash_ids_column": "hash_ids", "hash_id_block_size": "512", "duration_column": "duration", "copy_offset": "1.0",
		"max_wait": "", "max_session_wait": "", "min_concurrent_sessions": "",
	}
}
