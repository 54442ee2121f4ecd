package guidellm

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/runplan"
)

// Tool is the name of the tool in plans.
const Tool = "guidellm"

// file is what tells the generations apart; benchmarks are read by generation.
type file struct {
	Metadata *struct {
		Version int    `json:"version"`
		Release string `json:"guidellm_version"`
	} `json:"metadata"`
	Config *struct {
		Spec struct {
			Backend backendConfig `json:"backend"`
		} `json:"spec"`
	} `json:"config"`
	Args       json.RawMessage   `json:"args"`
	Benchmarks []json.RawMessage `json:"benchmarks"`
}

type backendConfig struct {
	Target string `json:"target"`
	Model  string `json:"model"`
	Format string `json:"request_format"`
	Stream *bool  `json:"stream"`
}

// Looks says whether a document has the shape of a report of any generation.
func Looks(doc tools.Document) bool {
	var f struct {
		Benchmarks []struct {
			RunStats json.RawMessage `json:"run_stats"`
			State    json.RawMessage `json:"scheduler_state"`
			Config   json.RawMessage `json:"config"`
			Metrics  json.RawMessage `json:"metrics"`
		} `json:"benchmarks"`
	}
	if tools.Decode(doc, &f) != nil {
		return false
	}
	for _, b := range f.Benchmarks {
		return b.Metrics != nil && (b.RunStats != nil || b.State != nil || b.Config != nil)
	}
	return false
}

// Read reads one report of any generation.
func Read(ctx context.Context, docs []tools.Document) (*tools.Imported, error) {
	if len(docs) != 1 {
		return nil, fmt.Errorf("reading a GuideLLM report: want one file, got %d", len(docs))
	}
	var f file
	if err := tools.Decode(docs[0], &f); err != nil {
		return nil, err
	}
	if len(f.Benchmarks) == 0 {
		return nil, fmt.Errorf("reading %q: benchmarks: there is none", docs[0].Path)
	}
	in := &tools.Imported{Tool: Tool, Version: f.release(), TokenCountSource: "usage",
		Notes: []string{"GuideLLM stamps with the wall clock: a step of it moves latencies"}}
	if f.Config != nil {
		setBackend(in, f.Config.Spec.Backend)
	}
	sessions := tools.Sessions{}
	for i, raw := range f.Benchmarks {
		doc := tools.Document{Path: fmt.Sprintf("%s: benchmarks[%d]", docs[0].Path, i), Data: raw}
		lists := requestLists{doc: &docs[0], path: fmt.Sprintf("benchmarks[%d].requests.", i)}
		read := stage2
		if f.old() {
			read = stage031
		}
		s, err := read(ctx, in, doc, lists, sessions)
		if err != nil {
			return nil, err
		}
		in.Stages = append(in.Stages, s)
	}
	return in, nil
}

// old says whether the report is of 0.3 or before.
func (f *file) old() bool {
	var b struct {
		RunStats json.RawMessage `json:"run_stats"`
	}
	return f.Metadata == nil && json.Unmarshal(f.Benchmarks[0], &b) == nil && b.RunStats != nil
}

// release is the version as far as the file says it.
func (f *file) release() string {
	switch {
	case f.Metadata != nil && f.Metadata.Release != "":
		return f.Metadata.Release
	case f.Metadata != nil && f.Metadata.Version >= 2:
		return ">=0.7"
	case f.Metadata != nil:
		return "0.5 or 0.6"
	case f.old():
		return "<=0.3"
	}
	return "0.4"
}

func setBackend(in *tools.Imported, b backendConfig) {
	if in.Endpoint == "" {
		in.Endpoint = b.Target
	}
	if in.Model == "" {
		in.Model = b.Model
	}
	if in.API.Type != "" || b.Format == "" {
		return
	}
	in.API = runplan.API{Type: runplan.APIChat, Path: b.Format, Stream: b.Stream == nil || *b.Stream}
	switch b.Format {
	case "/v1/completions", "text_completions":
		in.API.Type = runplan.APICompletions
	case "/v1/responses":
		in.API.Type = runplan.APIResponses
	case "/v1/embeddings":
		in.API.Type = runplan.APIEmbeddings
	}
}

// loadStrategy is what was run, in every generation.
type loadStrategy struct {
	Type           string  `json:"type_"`
	Rate           float64 `json:"rate"`
	Streams        int     `json:"streams"`
	MaxConcurrency *int    `json:"max_concurrency"`
}

func (l loadStrategy) stage(i int) runplan.Stage {
	s := runplan.Stage{Name: fmt.Sprintf("%s-%d", l.Type, i), Measure: true}
	if l.MaxConcurrency != nil {
		s.MaxInflight = *l.MaxConcurrency
	}
	switch l.Type {
	case "constant", "poisson", "async":
		s.Shape, s.Rate, s.Arrival, s.Name = runplan.ShapeOpen, l.Rate, l.Type, fmt.Sprintf("rate-%g", l.Rate)
	case "concurrent":
		s.Shape, s.Concurrency, s.MaxInflight, s.Name = runplan.ShapeClosed, l.Streams, 0, fmt.Sprintf("concurrency-%d", l.Streams)
	case "synchronous":
		s.Shape, s.Concurrency, s.MaxInflight, s.Name = runplan.ShapeClosed, 1, 0, "synchronous"
	case "trace":
		s.Shape = runplan.ShapeTrace
	default:
		s.Shape = runplan.ShapeThroughput
	}
	return s
}

// breakdown is a count per status.
type breakdown struct {
	Successful int `json:"successful"`
	Incomplete int `json:"incomplete"`
	Errored    int `json:"errored"`
	Total      int `json:"total"`
}

func (b breakdown) counts(all int) report.Counts {
	c := report.Counts{ByStatus: map[string]int{}, All: max(all, b.Successful+b.Errored+b.Incomplete)}
	for status, n := range map[string]int{report.StatusOK: b.Successful, report.StatusFailed: b.Errored, report.StatusCut: b.Incomplete} {
		if n > 0 {
			c.ByStatus[status] = n
			c.Total += n
		}
	}
	return c
}

// byState is a distribution per status; absent ones are nil.
type byState struct {
	Successful *summary `json:"successful"`
	Total      *summary `json:"total"`
}

// toMetric turns a summary into ours; false for one without values.
func (s *summary) toMetric(unit string, factor float64) (report.Metric, bool) {
	if s == nil || s.Count <= 0 {
		return report.Metric{}, false
	}
	m := report.Metric{Unit: unit, N: s.Count, Mean: s.Mean * factor, Stdev: s.StdDev * factor, Min: s.Min * factor, Max: s.Max * factor,
		Sum: s.TotalSum * factor, Quantiles: map[string]float64{}}
	for _, p := range percentiles() {
		if v, ok := s.Percentiles[p.name]; ok {
			m.Quantiles[p.native] = v * factor
		}
	}
	for _, q := range report.Quantiles {
		if report.LowN(m.N, q.P) {
			m.LowN = append(m.LowN, q.Name)
		}
	}
	return m, true
}

// requestLists are the lists of the requests of a benchmark.
type requestLists struct {
	doc  *tools.Document
	path string // without the name of the list
}

func (l requestLists) len(name string) int { return l.doc.Len(l.path + name) }

// rows yields the requests of all lists, each made by read of its JSON and its status.
func rows[T any](l requestLists, read func(from *T, status string) report.Row) tools.ImportedRows {
	return func(ctx context.Context) iter.Seq2[*tools.ImportedRow, error] {
		return func(yield func(*tools.ImportedRow, error) bool) {
			for _, list := range []struct{ name, status string }{{"successful", report.StatusOK}, {"errored", report.StatusFailed}, {"incomplete", report.StatusCut}} {
				i := 0
				for element, err := range l.doc.Each(ctx, l.path+list.name) {
					var from T
					if err == nil {
						err = tools.DecodeElement(l.doc, l.path+list.name, i, element, &from)
					}
					if err != nil {
						yield(nil, err)
						return
					}
					if !yield(&tools.ImportedRow{Row: read(&from, list.status)}, nil) {
						return
					}
					i++
				}
			}
		}
	}
}
