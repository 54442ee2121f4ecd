package load

import (
	"path"
	"slices"
	"strings"

	"bflow.dev/bflow/runplan"
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
	d.Trace, d.File, d.Images = nativeTrace(f.get("trace")), nativeFile(f.get("file")), t.nativeImages(f.get("images"))
	f.close()
	t.checkSource(v, &d)
	return d
}

// checkSource finds data without a source of prompts, or with two.
func (t *translator) checkSource(v value, d *runplan.Data) {
	if !v.set() {
		v = t.block
	}
	switch {
	case d.Input == nil && d.Trace == nil && d.File == nil:
		v.errorf("needs data.input (tokens), data.file or data.trace")
	case d.File != nil && (d.Input != nil || d.FirstInput != nil || d.Trace != nil):
		v.errorf("a file has its own prompts: remove file, or input, first_input and trace")
	case d.File != nil && d.Turns > 1 && d.File.Format != runplan.FileShareGPT:
		v.errorf("a row of this file is one turn: turns need format sharegpt")
	}
}

func nativeFile(v value) *runplan.File {
	if !v.set() {
		return nil
	}
	f := v.fields()
	file := &runplan.File{
		URL: f.must("url").secretText(), SHA256: f.get("sha256").text(), PromptColumn: f.get("prompt_column").text(),
		OutputColumn: f.get("output_column").text(), Limit: f.get("limit").integer(1), Shuffle: f.get("shuffle").boolean(),
	}
	format := f.get("format")
	if file.Format = FileFormat(file.URL); format.set() || file.Format == "" {
		file.Format = f.must("format").word(runplan.FileText, runplan.FileCSV, runplan.FileJSONL, runplan.FileParquet, runplan.FileShareGPT)
	}
	f.close()
	return file
}

// FileFormat tells the format of a file by its name, "" where that says nothing. A .json file is a list: ShareGPT's.
func FileFormat(name string) string {
	name, _, _ = strings.Cut(name, "?")
	switch strings.ToLower(path.Ext(strings.TrimSuffix(name, ".gz"))) {
	case ".txt":
		return runplan.FileText
	case ".csv":
		return runplan.FileCSV
	case ".jsonl":
		return runplan.FileJSONL
	case ".parquet":
		return runplan.FileParquet
	}
	return ""
}

func (t *translator) nativeImages(v value) *runplan.Images {
	if !v.set() {
		return nil
	}
	f := v.fields()
	images := &runplan.Images{Count: f.countOr(1, "count"), Width: f.must("width").integer(1), Height: f.must("height").integer(1)}
	f.close()
	if t.m.API.Type != runplan.APIChat {
		v.errorf("images are parts of a chat message: set api.type to chat")
	}
	return images
}

func nativeTrace(v value) *runplan.Trace {
	if !v.set() {
		return nil
	}
	f := v.fields()
	trace := &runplan.Trace{
		Format: traceFormat(f.must("format")), URL: f.must("url").secretText(), SHA256: f.get("sha256").text(), Limit: f.get("limit").integer(1),
		MaxInput: f.get("max_input").integer(1), MaxOutput: f.get("max_output").integer(1), TimeScale: f.numberOr("time_scale", 1),
		From: f.get("from").duration(), To: f.get("to").duration(), Repeat: f.get("repeat").integer(1),
	}
	if v := f.get("turns"); v.set() {
		trace.Turns = v.word(runplan.TurnsRecorded, runplan.TurnsIdle)
	}
	f.close()
	return trace
}

// traceFormat is the one word for a format that tools name differently.
func traceFormat(v value) string {
	known := []string{"mooncake_trace", runplan.TraceMooncake, runplan.TraceAzure, runplan.TraceJSONL, runplan.TraceSynthetic}
	switch word := v.text(); {
	case word == "mooncake_trace": // aiperf's word
		return runplan.TraceMooncake
	case !slices.Contains(known, word):
		v.errorf("%s", notOneOf(word, known))
	}
	return v.text()
}
