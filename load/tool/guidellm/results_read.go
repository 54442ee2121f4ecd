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

// file is what tells the generations apart; benchmarks are read by generation.
type file struct {
	Metadata *metadata2 `json:"metadata"`
	Config   *struct {
		Spec struct {
			Backend backend2 `json:"backend"`
		} `json:"spec"`
	} `json:"config"`
	Args       json.RawMessage   `json:"args"`
	Benchmarks []json.RawMessage `json:"benchmarks" need:"yes"`
}

// Looks says whether a document has the shape of a report of any generation.
func Looks(doc tools.Document) bool {
	var f struct {
		Benchmarks []tools.Free `json:"benchmarks"`
	}
	if tools.Decode(doc, &f) != nil {
		return false
	}
	for _, b := range f.Benchmarks {
		return b["metrics"] != nil && (b["run_stats"] != nil || b["scheduler_state"] != nil || b["config"] != nil)
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
	in := &tools.Imported{Tool: Name, Version: f.release(), TokenCountSource: "usage",
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

func setBackend(in *tools.Imported, b backend2) {
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
	kind                    string
	rate                    *float64
	streams, maxConcurrency *int
}

func (l loadStrategy) stage(i int) runplan.Stage {
	s := runplan.Stage{Name: fmt.Sprintf("%s-%d", l.kind, i), Measure: true}
	if l.maxConcurrency != nil {
		s.MaxInflight = *l.maxConcurrency
	}
	rate, streams := valueOf(l.rate), valueOf(l.streams)
	switch l.kind {
	case "constant", "poisson", "async":
		s.Shape, s.Rate, s.Arrival = runplan.ShapeOpen, rate, l.kind
		s.Name = fmt.Sprintf("rate-%g", rate)
	case "concurrent":
		s.Shape, s.Concurrency, s.MaxInflight = runplan.ShapeClosed, streams, 0
		s.Name = fmt.Sprintf("concurrency-%d", streams)
	case "synchronous":
		s.Shape, s.Concurrency, s.MaxInflight = runplan.ShapeClosed, 1, 0
		s.Name = "synchronous"
	case "trace":
		s.Shape = runplan.ShapeTrace
	default:
		s.Shape = runplan.ShapeThroughput
	}
	return s
}

// valueOf is zero for what is absent.
func valueOf[T any](v *T) (out T) {
	if v != nil {
		out = *v
	}
	return out
}

// breakdown is a count per status.
type breakdown struct {
	Errored    int `json:"errored" need:"yes"`
	Incomplete int `json:"incomplete" need:"yes"`
	Successful int `json:"successful" need:"yes"`
	Total      int `json:"total" need:"yes"`
}

func (b breakdown) counts(all int) report.Counts {
	c := tools.CountsOf(map[string]int{report.StatusOK: b.Successful, report.StatusFailed: b.Errored,
		report.StatusCut: b.Incomplete})
	c.All = max(all, c.All)
	return c
}

// distribution is one of the successful requests and of all; absent ones are nil.
type distribution struct{ successful, total *summary }

// toMetric turns a summary into ours; false for one without values.
func (s *summary) toMetric(unit string, factor float64) (report.Metric, bool) {
	if s == nil || s.Count <= 0 {
		return report.Metric{}, false
	}
	m := report.Metric{Unit: unit, N: s.Count, Mean: s.Mean * factor, Stdev: s.StdDev * factor, Min: s.Min * factor,
		Max: s.Max * factor, Sum: s.TotalSum * factor, Quantiles: map[string]float64{}}
	for _, p := range percentiles() {
		if v, ok := s.Percentiles[p.name]; ok {
			m.Quantiles[p.native] = v * factor
		}
	}
	m.LowN = report.LowQuantiles(m.N)
	return m, true
}

// requestLists are the lists of the requests of a benchmark.
type requestLists struct {
	doc  *tools.Document
	path string // without the name of the list
}

func (l requestLists) len(name string) int { return l.doc.Len(l.path + name) }

// requests are the requests of a benchmark, of one generation.
type requests[T any] struct {
	Errored    tools.Stream[T] `json:"errored"`
	Incomplete tools.Stream[T] `json:"incomplete"`
	Successful tools.Stream[T] `json:"successful"`
	Total      tools.Null      `json:"total"`
}

// bind makes the lists those of the document, whose elements are not in memory.
func (r *requests[T]) bind(lists requestLists) {
	r.Successful = tools.Elements[T](lists.doc, lists.path+"successful")
	r.Errored = tools.Elements[T](lists.doc, lists.path+"errored")
	r.Incomplete = tools.Elements[T](lists.doc, lists.path+"incomplete")
}

// cut leaves the first n of each list; 0 leaves all.
func (r *requests[T]) cut(n int) {
	if n > 0 {
		r.Errored, r.Incomplete, r.Successful = r.Errored.First(n), r.Incomplete.First(n), r.Successful.First(n)
	}
}

// rows yields the requests of all lists, each made by read of its number, what the file says, and its status.
func (r *requests[T]) rows(read func(n int, from *T, status string) report.Row) tools.ImportedRows {
	lists := []tools.Stream[T]{r.Successful, r.Errored, r.Incomplete}
	return func(ctx context.Context) iter.Seq2[*tools.ImportedRow, error] {
		return func(yield func(*tools.ImportedRow, error) bool) {
			n := 0
			for i, status := range []string{report.StatusOK, report.StatusFailed, report.StatusCut} {
				for from, err := range lists[i](ctx) {
					if err != nil {
						yield(nil, err)
						return
					}
					if !yield(&tools.ImportedRow{Row: read(n, &from, status)}, nil) {
						return
					}
					n++
				}
			}
		}
	}
}
