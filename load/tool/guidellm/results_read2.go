package guidellm

import (
	"context"
	"fmt"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/runplan"
)

// stage2 reads a benchmark of 0.4 and later.
func stage2(_ context.Context, in *tools.Imported, doc tools.Document, lists requestLists,
	sessions tools.Sessions) (tools.ImportedStage, error) {
	var b benchmark2
	if err := tools.Decode(doc, &b); err != nil {
		return tools.ImportedStage{}, err
	}
	setBackend(in, b.Config.Backend)
	anchor := b.Scheduler.Start
	ns, ok := tools.Seconds(anchor)
	if !ok || ns == 0 {
		return tools.ImportedStage{}, fmt.Errorf("reading %q: scheduler_metrics.start_time: want unix seconds, found %g",
			doc.Path, anchor)
	}
	if in.AnchorUnixNS == 0 {
		in.AnchorUnixNS = ns
	}
	s := tools.NewStage(b.Config.Strategy.planned().stage(len(in.Stages)), "duration")
	s.Planned.SkipFirst, s.Planned.SkipLast = b.Config.Warmup.trim(), b.Config.Cooldown.trim()
	s.Span(b.Scheduler.RequestStart, b.Scheduler.End, b.Scheduler.MeasureStart, b.Scheduler.MeasureEnd)
	totals := b.Metrics.Totals
	s.Counts = totals.counts(b.Scheduler.Made.Total)
	b.metrics(&s)
	b.Requests.bind(lists)
	zero := float64(in.AnchorUnixNS) / 1e9
	s.Rows = b.Requests.rows(func(_ int, r *row2, status string) report.Row { return r.row(zero, status, sessions) })
	s.Whole = lists.len("successful") == totals.Successful
	if !s.Whole {
		in.Note("%s: %d of %d successful requests are in the file: "+
			"latencies are the tool's own, tpot and tpot_incl weighted by tokens",
			s.Planned.Name, lists.len("successful"), totals.Successful)
	}
	for _, w := range b.Warnings {
		in.Note("%s: GuideLLM warns: %s", s.Planned.Name, w.Message)
	}
	return s, nil
}

func (t trim2) trim() runplan.Trim {
	switch {
	case t.Percent != nil && *t.Percent > 0:
		return runplan.Trim{Share: *t.Percent}
	case t.Value == nil || *t.Value <= 0 || *t.Value >= 1e6:
	case t.Mode == "requests":
		return runplan.Trim{Requests: int(*t.Value)}
	default:
		return runplan.Trim{Duration: runplan.Duration(*t.Value * 1e9)}
	}
	return runplan.Trim{}
}

func (s *strategy2) planned() loadStrategy {
	return loadStrategy{kind: s.Type, rate: s.Rate, streams: s.Streams, maxConcurrency: s.MaxConcurrency}
}

// metrics takes the tool's own numbers of the successful requests, in our units.
func (b *benchmark2) metrics(s *tools.ImportedStage) {
	named := b.Metrics.named()
	for _, m := range []struct {
		theirs, ours string
		factor       float64
	}{
		{"request_latency", "e2e", 1e3}, {"request_scheduled_latency", "e2e_intended", 1e3},
		{"request_dispatch_delay", "sched_lag", 1e3}, {"time_to_first_token_ms", "ttft", 1},
		{"time_to_first_output_token_ms", "ttfc", 1}, {"inter_token_latency_ms", "tpot", 1},
		{"time_per_output_token_ms", "tpot_incl", 1}, {"prompt_token_count", "tokens_in", 1},
		{"output_token_count", "tokens_out", 1}, {"request_concurrency", "concurrency", 1},
	} {
		if v, ok := named[m.theirs].successful.toMetric(report.Unit(m.ours), m.factor); ok {
			s.Metrics[m.ours] = v
		}
	}
	rates(named, s)
	s.SetGoodput(b.Metrics.Attainment, b.Metrics.DeterminedRequests)
}

// rates have a mean over the window; of tokens those of every request count. Their percentiles mean nothing.
func rates(named map[string]distribution, s *tools.ImportedStage) {
	for theirs, ours := range map[string]string{"requests_per_second": "request_rate",
		"prompt_tokens_per_second": "input_token_rate", "output_tokens_per_second": "output_token_rate",
		"tokens_per_second": "total_token_rate"} {
		from := named[theirs].total
		if ours == "request_rate" {
			from = named[theirs].successful
		}
		if from != nil {
			s.Rates[ours] = from.Mean
		}
	}
	s.SetOfferedRate()
	in, out := named["prompt_token_count"].successful, named["output_token_count"].successful
	if in != nil && out != nil {
		s.Tokens.In, s.Tokens.Out = int64(in.TotalSum), int64(out.TotalSum)
	}
}

func (r *row2) row(anchor float64, status string, sessions tools.Sessions) report.Row {
	t := &r.Info.Timings
	at := func(from ...*float64) *int64 { return stampOf(anchor, from...) }
	row := report.Row{ID: r.ID, Session: sessions.Number(r.Info.ConversationID), Turn: r.Info.TurnIndex,
		Phase: report.PhaseMeasured, Status: status, TSend: at(t.RequestStart, t.ResolveStart),
		TFirstByte: at(t.FirstRequest), TFirst: at(t.FirstToken), TContent: at(t.FirstOutput), TLast: at(t.LastToken),
		TEnd:     at(t.RequestEnd, t.ResolveEnd),
		TokensIn: tools.FirstCount(r.PromptTokens, r.InputMetrics.TextTokens), TokensCached: r.CachedTokens,
		TokensOut: tools.FirstCount(r.OutputTokens, r.OutputMetrics.TextTokens), Events: t.TokenIterations,
		TokenSource: "usage"}
	if intended := at(t.TargetedStart, t.RequestStart, t.ResolveStart); intended != nil {
		row.TIntended = *intended
	}
	if status == report.StatusFailed {
		tools.Fail(&row, 0, "", valueOf(r.Info.Error))
	}
	return row
}

// stampOf is the first stamp that is there, as ns since the anchor. -1 stands for none in old files.
func stampOf(anchor float64, from ...*float64) *int64 {
	for _, t := range from {
		if t == nil || *t < 0 {
			continue
		}
		if ns, ok := tools.Since(anchor, *t); ok {
			return &ns
		}
	}
	return nil
}
