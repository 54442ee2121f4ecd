package load

import (
	"path"
	"strings"

	"bflow.dev/bflow/runplan"
)

// plan is the data of a plan for a stage of a load value.
func (d *NativeData) plan(load float64) runplan.Data {
	out := runplan.Data{
		Input: d.Input.plan(), Output: d.Output.plan(), FirstInput: d.FirstInput.plan(), FirstOutput: d.FirstOutput.plan(),
		Turns: d.Turns, Think: runplan.Duration(d.Think), Conversations: d.Conversations, FreshPerStage: d.FreshPerStage,
		Seed: d.Seed, Trace: d.Trace.plan(), File: d.File.plan(),
	}
	for _, p := range d.Prefixes {
		out.Prefixes = append(out.Prefixes, runplan.Prefix{Weight: p.Weight, Count: p.Count.Of(load), Tokens: p.Tokens})
	}
	if i := d.Images; i != nil {
		out.Images = &runplan.Images{Count: i.Count, Width: i.Width, Height: i.Height}
	}
	return out
}

func (f *File) plan() *runplan.File {
	if f == nil {
		return nil
	}
	out := &runplan.File{
		Format: f.Format, URL: f.URL, SHA256: f.SHA256, PromptColumn: f.PromptColumn, OutputColumn: f.OutputColumn,
		Limit: f.Limit, Shuffle: f.Shuffle,
	}
	if out.Format == "" {
		out.Format = FileFormat(f.URL)
	}
	return out
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

func (r *Trace) plan() *runplan.Trace {
	if r == nil {
		return nil
	}
	return &runplan.Trace{
		Format: r.Format, URL: r.URL, SHA256: r.SHA256, Limit: r.Limit, MaxInput: r.MaxInput, MaxOutput: r.MaxOutput,
		TimeScale: r.TimeScale, From: runplan.Duration(r.From), To: runplan.Duration(r.To),
		Turns: r.Turns, Repeat: r.Repeat,
	}
}
