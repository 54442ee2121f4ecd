package aiperf

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/runplan"
)

// Looks says whether a document is the summary or the requests.
func Looks(doc tools.Document) bool { return looksSummary(doc) || looksRows(doc) }

func looksSummary(doc tools.Document) bool {
	return tools.HasMembers(doc, "aiperf_version") || tools.HasMembers(doc, "request_count", "input_config")
}

func looksRows(doc tools.Document) bool {
	var row struct {
		Metadata tools.Free `json:"metadata"`
	}
	return tools.Decode(doc, &row) == nil && row.Metadata["benchmark_phase"] != nil
}

// Read reads artifacts: summaries with their requests, or either alone. A summary goes with the requests of its folder.
func Read(ctx context.Context, docs []tools.Document) (*tools.Imported, error) {
	in := &tools.Imported{Tool: Name, TokenCountSource: "tokenizer", Notes: []string{
		"AIPerf: e2e_last_token ends with the last token; tpot is its inter token latency; rates are over the whole run"}}
	folders, order := map[string]*pair{}, []string{}
	for i := range docs {
		dir := filepath.Dir(docs[i].Path)
		if folders[dir] == nil {
			folders[dir] = &pair{}
			order = append(order, dir)
		}
		switch p := folders[dir]; {
		case looksSummary(docs[i]) && p.summary == nil:
			p.summary = &docs[i]
		case looksRows(docs[i]) && p.rows == nil:
			p.rows = &docs[i]
		}
	}
	for _, dir := range order {
		if p := folders[dir]; p.summary != nil || p.rows != nil {
			if err := p.read(ctx, in); err != nil {
				return nil, err
			}
		}
	}
	if len(in.Stages) == 0 {
		return nil, fmt.Errorf("reading %q: neither %s nor %s is given", docs[0].Path, fileJSON, fileRows)
	}
	return in, nil
}

// pair is a folder of artifacts.
type pair struct{ summary, rows *tools.Document }

func (p *pair) read(ctx context.Context, in *tools.Imported) error {
	s := tools.NewStage(runplan.Stage{Name: "profiling", Measure: true, Shape: runplan.ShapeThroughput}, "requests")
	s.Counts = tools.CountsOf(nil)
	if p.summary != nil {
		if err := readSummary(in, &s, *p.summary); err != nil {
			return err
		}
	}
	if p.rows != nil {
		if err := readRows(ctx, in, &s, p.rows, p.summary == nil); err != nil {
			return err
		}
	}
	if in.AnchorUnixNS == 0 {
		in.AnchorUnixNS = s.StartNS
	}
	in.Stages = append(in.Stages, s)
	return nil
}

func readSummary(in *tools.Imported, s *tools.ImportedStage, doc tools.Document) error {
	f, err := readSummaryOf(doc)
	if err != nil {
		return err
	}
	in.Version = f.Version
	if f.Cancelled {
		s.Ended = "interrupted"
	}
	f.server(in, s)
	start, ok1 := stampOf(f.Start)
	end, ok2 := stampOf(f.End)
	if !ok1 || !ok2 {
		in.Note(tools.NoTimeOfDay)
		start, end = doc.End(), doc.End()
	}
	s.Span(start, end, start, end)
	f.numbers(in, s)
	return nil
}

// stampOf reads a local time without a zone, taken as UTC.
func stampOf(text string) (float64, bool) {
	for _, layout := range []string{"2006-01-02T15:04:05.999999999", time.RFC3339Nano} {
		if t, err := time.Parse(layout, text); err == nil {
			return float64(t.UnixNano()) / 1e9, true
		}
	}
	return 0, false
}

func (f *summary) server(in *tools.Imported, s *tools.ImportedStage) {
	c := f.Input
	if c == nil {
		return
	}
	if len(c.Models.Items) > 0 {
		in.Model = c.Models.Items[0].Name
	}
	if len(c.Endpoint.URLs) > 0 {
		in.Endpoint = c.Endpoint.URLs[0]
	}
	if c.Endpoint.ServerTokens {
		in.TokenCountSource = "usage"
	}
	in.API = runplan.API{Type: c.Endpoint.Type, Stream: c.Endpoint.Streaming}
	for _, p := range c.Phases {
		if p.Kind == "warmup" {
			continue
		}
		s.Planned.Requests = max(0, p.Requests)
		if p.Duration > 0 && p.Duration < 1e7 {
			s.Planned.Duration = runplan.Duration(p.Duration * 1e9)
		}
		switch {
		case p.Rate > 0:
			s.Planned.Shape, s.Planned.Rate, s.Planned.Arrival = runplan.ShapeOpen, p.Rate, p.Type
			s.Planned.MaxInflight, s.Planned.Burstiness = max(0, p.Concurrency), p.Smoothness
			s.Planned.Name = fmt.Sprintf("rate-%g", p.Rate)
		case p.Concurrency > 0:
			s.Planned.Shape, s.Planned.Concurrency = runplan.ShapeClosed, p.Concurrency
			s.Planned.Name = fmt.Sprintf("concurrency-%d", p.Concurrency)
		}
		return
	}
}
