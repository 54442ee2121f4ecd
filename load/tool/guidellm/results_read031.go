package guidellm

import (
	"context"
	"fmt"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/runplan"
)

// stage031 reads a benchmark of 0.3. Its metrics have no window: rates are over the run. Its time per output token is
// (last - first)/n, kept under the name tpot_over_n and never as tpot or tpot_incl, which are recomputed from the
// stamps.
func stage031(ctx context.Context, in *tools.Imported, doc tools.Document, lists requestLists,
	_ tools.Sessions) (tools.ImportedStage, error) {
	var b benchmark031
	if err := tools.Decode(doc, &b); err != nil {
		return tools.ImportedStage{}, err
	}
	ns, ok := tools.Seconds(b.RunStats.Start)
	if !ok || ns == 0 {
		return tools.ImportedStage{}, fmt.Errorf("reading %q: run_stats.start_time: want unix seconds, found %g",
			doc.Path, b.RunStats.Start)
	}
	if in.AnchorUnixNS == 0 {
		in.AnchorUnixNS = ns
	}
	if in.Endpoint == "" {
		in.Endpoint, in.Model = b.Worker.Target, b.Worker.Model
	}
	in.Note("GuideLLM 0.3 does not see reasoning: ttft is to the first content; " +
		"its time per output token is kept as tpot_over_n, (last - first)/n")
	s := tools.NewStage(b.Args.Strategy.planned().stage(len(in.Stages)), "duration")
	s.Span(b.RunStats.Start, b.RunStats.End, b.Start, b.End)
	totals := b.RunStats.Made
	if b.Totals != nil {
		totals = *b.Totals
	}
	s.Counts = totals.counts(b.RunStats.Made.Total)
	b.metrics(&s)
	b.Requests.bind(lists)
	if err := b.api(ctx, in); err != nil {
		return s, err
	}
	zero := float64(in.AnchorUnixNS) / 1e9
	s.Rows = b.Requests.rows(func(n int, r *row031, status string) report.Row { return r.row(n, zero, status) })
	s.Whole = lists.len("successful") == totals.Successful
	if !s.Whole {
		in.Note("%s: %d of %d successful requests are in the file: latencies are the tool's own, tpot weighted by tokens",
			s.Planned.Name, lists.len("successful"), totals.Successful)
	}
	return s, nil
}

func (s *strategy031) planned() loadStrategy {
	return loadStrategy{kind: s.Type, rate: s.Rate, streams: s.Streams, maxConcurrency: s.MaxConcurrency.Value}
}

func (b *benchmark031) metrics(s *tools.ImportedStage) {
	named := b.Metrics.named()
	for _, m := range []struct {
		theirs, ours, unit string
		factor             float64
	}{
		{"request_latency", "e2e", "ms", 1e3}, {"time_to_first_token_ms", "ttft", "ms", 1},
		{"inter_token_latency_ms", "tpot", "ms_per_token", 1}, {"time_per_output_token_ms", "tpot_over_n", "ms_per_token", 1},
		{"prompt_token_count", "tokens_in", "tokens", 1},
		{"output_token_count", "tokens_out", "tokens", 1},
	} {
		if v, ok := named[m.theirs].successful.toMetric(m.unit, m.factor); ok {
			s.Metrics[m.ours] = v
		}
	}
	rates(named, s)
}

// api takes the interface from the first request that names one.
func (b *benchmark031) api(ctx context.Context, in *tools.Imported) error {
	if in.API.Type != "" {
		return nil
	}
	kind := ""
	look := func(_ int, r *row031, _ string) report.Row {
		kind = r.RequestType
		return report.Row{}
	}
	for _, err := range b.Requests.rows(look)(ctx) {
		if err != nil {
			return err
		}
		if kind == "" {
			continue
		}
		in.API = runplan.API{Type: runplan.APIChat, Stream: true}
		if kind == "text_completions" {
			in.API.Type = runplan.APICompletions
		}
		break
	}
	return nil
}

// row turns a request into ours. The output tokens of one that did not end well are those of its prompt, by a defect
// of the tool: they are left out. Each is a conversation of its own: that generation has no others.
func (r *row031) row(n int, anchor float64, status string) report.Row {
	row := report.Row{ID: r.ID, Session: n, Phase: report.PhaseMeasured, Status: status,
		TSend: stampOf(anchor, r.StartTime), TFirst: stampOf(anchor, r.FirstTokenTime),
		TContent: stampOf(anchor, r.FirstTokenTime), TLast: stampOf(anchor, r.LastTokenTime),
		TEnd: stampOf(anchor, r.EndTime), TokensIn: r.PromptTokens, TokenSource: "usage"}
	if intended := stampOf(anchor, r.Scheduler.TargetedStart, r.StartTime); intended != nil {
		row.TIntended = *intended
	}
	if status == report.StatusOK {
		row.TokensOut = r.OutputTokens
	}
	if status == report.StatusFailed {
		tools.Fail(&row, 0, "", valueOf(r.Error))
	}
	return row
}
