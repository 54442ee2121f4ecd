package vllmbench

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/runplan"
)

// Tool is the name of the tool in plans.
const Tool = "vllm-bench"

// file is one result; the summaries are read by name.
type file struct {
	Date        string          `json:"date"`
	Endpoint    string          `json:"endpoint_type"`
	Backend     string          `json:"backend"`
	Label       *string         `json:"label"`
	Model       string          `json:"model_id"`
	Rate        json.RawMessage `json:"request_rate"`
	Burstiness  json.RawMessage `json:"burstiness"`
	Concurrency *float64        `json:"max_concurrency"`
	Prompts     float64         `json:"num_prompts"`
	Duration    float64         `json:"duration"`
	Completed   *int            `json:"completed"`
	Failed      *int            `json:"failed"`
	Input       float64         `json:"total_input_tokens"`
	Output      float64         `json:"total_output_tokens"`
	Requests    *float64        `json:"request_throughput"`
	Goodput     *float64        `json:"request_goodput"`
	OldGoodput  *float64        `json:"request_goodput:"` // as older releases spell it
	OutputRate  *float64        `json:"output_throughput"`
	TotalRate   *float64        `json:"total_token_throughput"`
}

// Looks says whether a document has the shape of a result.
func Looks(doc tools.Document) bool {
	var f struct {
		Completed *float64 `json:"completed"`
		Prompts   *float64 `json:"num_prompts"`
		Duration  *float64 `json:"duration"`
	}
	return tools.Decode(doc, &f) == nil && f.Completed != nil && f.Prompts != nil && f.Duration != nil
}

// Read reads results: files of one object each, or of one per line.
func Read(ctx context.Context, docs []tools.Document) (*tools.Imported, error) {
	in := &tools.Imported{Tool: Tool, TokenCountSource: "usage", Notes: []string{
		"vllm bench paces on the wall clock, and its latencies begin after its own wait for a slot: no latency from the intended send exists",
		"e2e_last_token ends at the last chunk with choices; its rates are over the whole run, drain included"}}
	for i := range docs {
		all, err := docs[i].Split(ctx)
		if err != nil {
			return nil, err
		}
		for j := range all {
			one := &all[j]
			var f file
			if err := tools.Decode(*one, &f); err != nil {
				return nil, err
			}
			if f.Completed == nil {
				return nil, tools.Malformed("reading %q: completed: it is missing, this is no result of vllm bench serve", one.Path)
			}
			s, err := f.stage(ctx, in, one)
			if err != nil {
				return nil, err
			}
			in.Stages = append(in.Stages, s)
		}
	}
	return in, nil
}

func (f *file) stage(ctx context.Context, in *tools.Imported, doc *tools.Document) (tools.ImportedStage, error) {
	f.server(in)
	s := tools.ImportedStage{Planned: f.planned(len(in.Stages)), Ended: "requests", Rates: map[string]float64{}, Metrics: map[string]report.Metric{}}
	start, err := time.Parse("20060102-150405", f.Date)
	if err != nil {
		in.Note(tools.NoTimeOfDay)
		start = time.Unix(int64(doc.End()), 0)
	}
	// The date is that of the end: the file is written then.
	if f.Duration > 1e7 || f.Duration < 0 {
		return s, fmt.Errorf("reading %q: duration: %g is no number of seconds that a run takes", doc.Path, f.Duration)
	}
	end := float64(start.Unix())
	s.Span(end-f.Duration, end, end-f.Duration, end)
	if in.AnchorUnixNS == 0 {
		in.AnchorUnixNS = s.StartNS
		in.Note("the date of the file is local time without a zone, taken as UTC; times of requests are counted from its first send")
	}
	s.Counts = f.counts()
	f.rates(&s)
	if err := f.summaries(*doc, &s); err != nil {
		return s, err
	}
	f.goodput(&s)
	return s, readLists(ctx, in, doc, &s)
}

func (f *file) server(in *tools.Imported) {
	in.Model = f.Model
	in.API = runplan.API{Type: runplan.APICompletions, Stream: true}
	kind := f.Backend + f.Endpoint
	switch {
	case strings.Contains(kind, "chat"):
		in.API.Type = runplan.APIChat
		in.Note("chat: ttft is that of the first chunk with choices, usually the one with the role, so it can be too low by the whole prefill; one gap too many is in itl")
	case strings.Contains(kind, "embedding"):
		in.API.Type = runplan.APIEmbeddings
	}
}

func (f *file) planned(i int) runplan.Stage {
	s := runplan.Stage{Name: fmt.Sprintf("load-%d", i), Measure: true, Requests: int(min(1e9, max(0, f.Prompts)))}
	rate, infinite := number(f.Rate)
	limit := 0
	if f.Concurrency != nil && *f.Concurrency > 0 && *f.Concurrency < 1e9 {
		limit = int(*f.Concurrency)
	}
	switch {
	case rate > 0 && !infinite:
		s.Shape, s.Rate, s.Arrival, s.MaxInflight, s.Name = runplan.ShapeOpen, rate, "poisson", limit, fmt.Sprintf("rate-%g", rate)
		b, constant := number(f.Burstiness)
		switch {
		case constant:
			s.Arrival = "constant"
		case b > 0 && b != 1:
			s.Arrival, s.Burstiness = "gamma", b
		}
	case limit > 0:
		s.Shape, s.Concurrency, s.Name = runplan.ShapeClosed, limit, fmt.Sprintf("concurrency-%d", limit)
	default:
		s.Shape = runplan.ShapeThroughput
	}
	if f.Label != nil && *f.Label != "" {
		s.Name = *f.Label
	}
	return s
}

// number reads a number that may be the text "inf".
func number(raw json.RawMessage) (v float64, infinite bool) {
	text := strings.Trim(string(raw), `"`)
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) {
		return 0, false
	}
	return v, math.IsInf(v, 0)
}

// counts: failed is absent in old files, where what was not completed has failed.
func (f *file) counts() report.Counts {
	ok := max(0, *f.Completed)
	bad := max(0, int(min(1e9, max(0, f.Prompts)))-ok)
	if f.Failed != nil {
		bad = max(0, *f.Failed)
	}
	c := report.Counts{ByStatus: map[string]int{}, Total: ok + bad, All: ok + bad}
	for status, n := range map[string]int{report.StatusOK: ok, report.StatusFailed: bad} {
		if n > 0 {
			c.ByStatus[status] = n
		}
	}
	return c
}

// rates are over the whole run; with no other window they are those of the window too.
func (f *file) rates(s *tools.ImportedStage) {
	s.Tokens.In, s.Tokens.Out = int64(min(1e15, max(0, f.Input))), int64(min(1e15, max(0, f.Output)))
	put := func(name string, v *float64) {
		if v != nil {
			s.Rates[name], s.Rates[name+"_run"] = *v, *v
		}
	}
	put("request_rate", f.Requests)
	put("output_token_rate", f.OutputRate)
	put("total_token_rate", f.TotalRate)
	if f.Duration > 0 && f.Input > 0 {
		in := f.Input / f.Duration
		put("input_token_rate", &in)
	}
	if s.Planned.Rate > 0 {
		s.Rates["offered_rate"] = s.Planned.Rate
	}
}

func (f *file) goodput(s *tools.ImportedStage) {
	rate := cmp.Or(f.Goodput, f.OldGoodput)
	if rate == nil || f.Duration <= 0 || *rate < 0 || s.Counts.Total == 0 {
		return
	}
	good := int(math.Round(min(*rate*f.Duration, float64(s.Counts.Total))))
	s.Goodput = &report.GoodputResult{Good: good, Of: s.Counts.Total, Attainment: float64(good) / float64(s.Counts.Total), RequestsPerS: *rate}
}
