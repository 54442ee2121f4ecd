package vllmbench

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/runplan"
)

// Looks says whether a document has the shape of a result.
func Looks(doc tools.Document) bool {
	return tools.HasMembers(doc, "completed", "num_prompts", "duration")
}

// Read reads results: files of one object each, or of one per line.
func Read(ctx context.Context, docs []tools.Document) (*tools.Imported, error) {
	in := &tools.Imported{Tool: Name, TokenCountSource: "usage", Notes: []string{
		"vllm bench paces on the wall clock, and its latencies begin after its own wait for a slot: " +
			"no latency from the intended send exists",
		"e2e_last_token ends at the last chunk with choices; its rates are over the whole run, drain included"}}
	for i := range docs {
		all, err := docs[i].Split(ctx)
		if err != nil {
			return nil, err
		}
		for j := range all {
			one := &all[j]
			r, err := read(one)
			if err != nil {
				return nil, err
			}
			if r.Completed == nil {
				return nil, tools.Malformed("reading %q: completed: it is missing, this is no result of vllm bench serve", one.Path)
			}
			s, err := r.stage(ctx, in, one)
			if err != nil {
				return nil, err
			}
			in.Stages = append(in.Stages, s)
		}
	}
	return in, nil
}

func (r *result) stage(ctx context.Context, in *tools.Imported, doc *tools.Document) (tools.ImportedStage, error) {
	r.server(in)
	s := tools.NewStage(r.planned(len(in.Stages)), "requests")
	start, err := time.Parse("20060102-150405", r.Date)
	if err != nil {
		in.Note(tools.NoTimeOfDay)
		start = time.Unix(int64(doc.End()), 0)
	}
	// The date is that of the end: the file is written then.
	if r.Duration > 1e7 || r.Duration < 0 {
		return s, fmt.Errorf("reading %q: duration: want the seconds of a run, found %g", doc.Path, r.Duration)
	}
	end := float64(start.Unix())
	s.Span(end-r.Duration, end, end-r.Duration, end)
	if in.AnchorUnixNS == 0 {
		in.AnchorUnixNS = s.StartNS
		in.Note("the date of the file is local time without a zone, taken as UTC; " +
			"times of requests are counted from its first send")
	}
	s.Counts = r.counts()
	r.rates(&s)
	r.summaries(&s)
	r.goodput(&s)
	return s, r.readRows(ctx, in, doc, &s)
}

func (r *result) server(in *tools.Imported) {
	in.Model = r.Model
	in.API = runplan.API{Type: runplan.APICompletions, Stream: true}
	kind := r.Backend + r.Endpoint
	switch {
	case strings.Contains(kind, "chat"):
		in.API.Type = runplan.APIChat
		in.Note("chat: ttft is that of the first chunk with choices, usually the one with the role, " +
			"so it can be too low by the whole prefill; one gap too many is in itl")
	case strings.Contains(kind, "embedding"):
		in.API.Type = runplan.APIEmbeddings
	}
}

func (r *result) planned(i int) runplan.Stage {
	s := runplan.Stage{Name: fmt.Sprintf("load-%d", i), Measure: true, Requests: int(min(1e9, max(0, r.Prompts)))}
	rate, limit := float64(r.Rate), 0
	if r.Concurrency != nil && *r.Concurrency > 0 && *r.Concurrency < 1e9 {
		limit = int(*r.Concurrency)
	}
	switch {
	case rate > 0 && !math.IsInf(rate, 0):
		s.Shape, s.Rate, s.Arrival = runplan.ShapeOpen, rate, "poisson"
		s.MaxInflight, s.Name = limit, fmt.Sprintf("rate-%g", rate)
		switch b := float64(r.Burstiness); {
		case math.IsInf(b, 0):
			s.Arrival = "constant"
		case b > 0 && b != 1:
			s.Arrival, s.Burstiness = "gamma", b
		}
	case limit > 0:
		s.Shape, s.Concurrency, s.Name = runplan.ShapeClosed, limit, fmt.Sprintf("concurrency-%d", limit)
	default:
		s.Shape = runplan.ShapeThroughput
	}
	if r.Label != nil && *r.Label != "" {
		s.Name = *r.Label
	}
	return s
}

// counts: failed is absent in old files, where what was not completed has failed.
func (r *result) counts() report.Counts {
	ok := max(0, *r.Completed)
	bad := max(0, int(min(1e9, max(0, r.Prompts)))-ok)
	if r.Failed != nil {
		bad = max(0, *r.Failed)
	}
	return tools.CountsOf(map[string]int{report.StatusOK: ok, report.StatusFailed: bad})
}

func (r *result) rates(s *tools.ImportedStage) {
	s.Tokens.In, s.Tokens.Out = int64(min(1e15, max(0, r.Input))), int64(min(1e15, max(0, r.Output)))
	said := map[string]*float64{"request_rate": r.Requests, "output_token_rate": r.OutputRate,
		"total_token_rate": r.TotalRate}
	if r.Duration > 0 && r.Input > 0 {
		said["input_token_rate"] = new(r.Input / r.Duration)
	}
	s.SetRates(said)
}

func (r *result) goodput(s *tools.ImportedStage) {
	rate := cmp.Or(r.Goodput, r.OldGoodput)
	if rate == nil || r.Duration <= 0 || *rate < 0 || s.Counts.Total == 0 {
		return
	}
	good := int(math.Round(min(*rate*r.Duration, float64(s.Counts.Total))))
	s.Goodput = &report.GoodputResult{Good: good, Of: s.Counts.Total, RequestsPerS: *rate,
		Attainment: float64(good) / float64(s.Counts.Total)}
}
