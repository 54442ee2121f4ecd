package inferenceperf

import (
	"fmt"
	"strconv"
	"strings"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/runplan"
)

// readStageFile reads the stage of that index. It begins where the one before it has ended, and the first of a run of
// the tool when its file says so, but not before that.
func readStageFile(
	in *tools.Imported, doc tools.Document, c configuration, index int, first bool,
) (tools.ImportedStage, error) {
	var f lifecycle
	if err := tools.Decode(doc, &f); err != nil {
		return tools.ImportedStage{}, err
	}
	if f.Time == nil || *f.Time < 0 || *f.Time > 1e7 {
		return tools.ImportedStage{}, fmt.Errorf("reading %q: benchmark_time_seconds: want the seconds of a run", doc.Path)
	}
	in.Note(tools.NoTimeOfDay) // they hold monotonic stamps alone
	s := tools.NewStage(f.planned(c, index), "duration")
	begin := doc.End() - *f.Time
	if n := len(in.Stages); n > 0 {
		before := float64(in.Stages[n-1].DrainEndNS) / 1e9
		if begin = max(begin, before); !first {
			begin = before
		}
	} else {
		in.AnchorUnixNS = int64(begin * 1e9)
	}
	s.Span(begin, begin+*f.Time, begin, begin+*f.Time)
	if f.Load.SendDuration != nil && *f.Load.SendDuration >= 0 && *f.Load.SendDuration <= *f.Time {
		s.EndNS = s.StartNS + int64(*f.Load.SendDuration*1e9)
	}
	s.Counts = f.counts()
	f.metrics(&s)
	f.rates(&s)
	return s, nil
}

func (f *lifecycle) planned(c configuration, index int) runplan.Stage {
	s := runplan.Stage{Name: "stage-" + strconv.Itoa(index), Measure: true, Shape: runplan.ShapeThroughput}
	streams := f.Load.concurrency()
	switch {
	case streams > 0 && (c.Load.Type == "concurrent" || c.Load.Type == ""):
		s.Shape, s.Concurrency, s.Name = runplan.ShapeClosed, streams, fmt.Sprintf("concurrency-%d", streams)
	case f.Load.Requested != nil && *f.Load.Requested > 0:
		s.Shape, s.Rate, s.Name = runplan.ShapeOpen, *f.Load.Requested, fmt.Sprintf("rate-%g", *f.Load.Requested)
		s.Arrival = "poisson" // its constant load has random gaps too
	}
	return s
}

// counts: requests that are in neither list were cut off.
func (f *lifecycle) counts() report.Counts {
	c := tools.CountsOf(map[string]int{report.StatusOK: f.Successes.Count, report.StatusFailed: f.Failures.Count,
		report.StatusCut: f.Load.Count - f.Successes.Count - f.Failures.Count})
	c.All = max(c.All, f.Load.Count)
	for label, l := range f.Failures.ByLabel {
		tools.CountFailures(&c, l.Count, statusOf(label), label)
	}
	return c
}

// statusOf is the HTTP status that a label begins with: "504 - Gateway Timeout".
func statusOf(label string) int {
	head, _, _ := strings.Cut(label, " ")
	n, err := strconv.Atoi(head)
	if err != nil {
		return 0
	}
	return n
}

func (f *lifecycle) metrics(s *tools.ImportedStage) {
	ok := &f.Successes
	for ours, v := range map[string]values{"e2e": ok.Latency.Request, "ntpot": ok.Latency.NormalizedPerToken,
		"tpot": ok.Latency.PerToken, "ttfc": ok.Latency.FirstToken, "itl_perceived": ok.Latency.InterToken} {
		if m, found := v.metric(report.Unit(ours), ok.Count, 1e3); found {
			s.Metrics[ours] = m
		}
	}
	if m, found := f.Load.Delay.metric("ms", f.Load.Count, 1e3); found {
		s.Metrics["sched_lag"] = m
	}
	var promptLen values
	if ok.PromptLen != nil {
		promptLen = *ok.PromptLen
	}
	for ours, from := range map[string][]values{"tokens_in": {ok.Prompt, promptLen},
		"tokens_out": {ok.OutputLen, ok.Output}} {
		for _, v := range from {
			if m, found := v.metric("tokens", ok.Count, 1); found {
				s.Metrics[ours] = m
				break
			}
		}
	}
	s.Tokens.In, s.Tokens.Out = ok.Prompt.total(), ok.Output.total()
	if s.Tokens.In == 0 {
		s.Tokens.In = int64(s.Metrics["tokens_in"].Sum + .5)
	}
	if s.Tokens.Out == 0 {
		s.Tokens.Out = int64(s.Metrics["tokens_out"].Sum + .5)
	}
	if cached := ok.Prompt[statCached]; cached != nil && *cached > 0 {
		s.Tokens.Cached, s.Tokens.CachedOf = int64(*cached), s.Tokens.In
	}
}

func (f *lifecycle) rates(s *tools.ImportedStage) {
	from := &f.Successes.Throughput
	s.SetRates(map[string]*float64{"input_token_rate": from.InputTokens, "output_token_rate": from.OutputTokens,
		"total_token_rate": from.TotalTokens, "request_rate": from.Requests})
	if v := f.Load.Achieved; v != nil {
		s.Rates["achieved_rate"] = *v
	}
	g := f.Successes.Goodput
	if g == nil || g.Total <= 0 || g.Good < 0 {
		return
	}
	// Its share leaves out requests that failed; ours has them.
	of := s.Counts.ByStatus[report.StatusOK] + s.Counts.ByStatus[report.StatusFailed]
	s.Goodput = &report.GoodputResult{Good: g.Good, Of: max(of, g.Total)}
	s.Goodput.Attainment = min(1, float64(g.Good)/float64(s.Goodput.Of))
	if g.Requests != nil {
		s.Goodput.RequestsPerS = *g.Requests
	}
}
