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

// bench031 is a benchmark of 0.3 and before.
type bench031 struct {
	Start float64 `json:"start_time"`
	End   float64 `json:"end_time"`
	Args  struct {
		Strategy loadStrategy `json:"strategy"`
	} `json:"args"`
	RunStats struct {
		Start float64   `json:"start_time"`
		End   float64   `json:"end_time"`
		Made  breakdown `json:"requests_made"`
	} `json:"run_stats"`
	Worker struct {
		Target string `json:"backend_target"`
		Model  string `json:"backend_model"`
	} `json:"worker"`
	Metrics map[string]json.RawMessage `json:"metrics"`
	Totals  *breakdown                 `json:"request_totals"`
}

type row031 struct {
	ID        string   `json:"request_id"`
	Type      string   `json:"request_type"`
	Prompt    *int     `json:"prompt_tokens"`
	Output    *int     `json:"output_tokens"`
	Start     *float64 `json:"start_time"`
	End       *float64 `json:"end_time"`
	First     *float64 `json:"first_token_time"`
	Last      *float64 `json:"last_token_time"`
	Error     string   `json:"error"`
	Scheduler struct {
		Targeted *float64 `json:"targeted_start_time"`
	} `json:"scheduler_info"`
}

// stage031 reads a benchmark of 0.3. Its metrics have no window: rates are over the run. Its time per output token is
// (last - first)/n, kept under the name tpot_over_n and never as tpot or tpot_incl, which are recomputed from the stamps.
func stage031(ctx context.Context, in *tools.Imported, doc tools.Document, lists requestLists, _ tools.Sessions) (tools.ImportedStage, error) {
	var b bench031
	if err := tools.Decode(doc, &b); err != nil {
		return tools.ImportedStage{}, err
	}
	ns, ok := tools.Seconds(b.RunStats.Start)
	if !ok || ns == 0 {
		return tools.ImportedStage{}, fmt.Errorf("reading %q: run_stats.start_time: want unix seconds, found %g", doc.Path, b.RunStats.Start)
	}
	if in.AnchorUnixNS == 0 {
		in.AnchorUnixNS = ns
	}
	if in.Endpoint == "" {
		in.Endpoint, in.Model = b.Worker.Target, b.Worker.Model
	}
	in.Note("GuideLLM 0.3 does not see reasoning: ttft is to the first content; its time per output token is kept as tpot_over_n, (last - first)/n")
	s := tools.ImportedStage{Planned: b.Args.Strategy.stage(len(in.Stages)), Ended: "duration", Metrics: map[string]report.Metric{}, Rates: map[string]float64{}}
	s.Span(b.RunStats.Start, b.RunStats.End, b.Start, b.End)
	totals := b.RunStats.Made
	if b.Totals != nil {
		totals = *b.Totals
	}
	s.Counts = totals.counts(b.RunStats.Made.Total)
	if err := b.metrics(doc, &s); err != nil {
		return s, err
	}
	if err := api031(ctx, in, lists); err != nil {
		return s, err
	}
	zero := float64(in.AnchorUnixNS) / 1e9
	s.Rows = numbered(rows(lists, func(r *row031, status string) report.Row { return r.row(zero, status) }))
	s.Whole = lists.len("successful") == totals.Successful
	if !s.Whole {
		in.Note("%s: %d of %d successful requests are in the file: latencies are the tool's own, tpot weighted by tokens",
			s.Planned.Name, lists.len("successful"), totals.Successful)
	}
	return s, nil
}

func (b *bench031) metrics(doc tools.Document, s *tools.ImportedStage) error {
	for _, m := range []struct {
		theirs, ours, unit string
		factor             float64
	}{
		{"request_latency", "e2e", "ms", 1e3}, {"time_to_first_token_ms", "ttft", "ms", 1}, {"inter_token_latency_ms", "tpot", "ms_per_token", 1},
		{"time_per_output_token_ms", "tpot_over_n", "ms_per_token", 1}, {"prompt_token_count", "tokens_in", "tokens", 1},
		{"output_token_count", "tokens_out", "tokens", 1},
	} {
		var d byState
		if err := field(doc, b.Metrics, m.theirs, &d); err != nil {
			return err
		}
		if v, ok := d.Successful.toMetric(m.unit, m.factor); ok {
			s.Metrics[m.ours] = v
		}
	}
	return rates(doc, b.Metrics, s)
}

// api031 takes the interface from the first request that names one.
func api031(ctx context.Context, in *tools.Imported, lists requestLists) error {
	if in.API.Type != "" {
		return nil
	}
	kind := ""
	for _, err := range rows(lists, func(r *row031, _ string) report.Row { kind = r.Type; return report.Row{} })(ctx) {
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

// numbered makes each request a conversation of its own: that generation has no others.
func numbered(from tools.ImportedRows) tools.ImportedRows {
	return func(ctx context.Context) iter.Seq2[*tools.ImportedRow, error] {
		return func(yield func(*tools.ImportedRow, error) bool) {
			n := 0
			for row, err := range from(ctx) {
				if err == nil {
					row.Session = n
					n++
				}
				if !yield(row, err) {
					return
				}
			}
		}
	}
}

// row turns a request into ours. The output tokens of one that did not end well are those of its prompt, by a defect
// of the tool: they are left out.
func (r *row031) row(anchor float64, status string) report.Row {
	row := report.Row{ID: r.ID, Phase: report.PhaseMeasured, Status: status, TSend: stampOf(anchor, r.Start), TFirst: stampOf(anchor, r.First),
		TContent: stampOf(anchor, r.First), TLast: stampOf(anchor, r.Last), TEnd: stampOf(anchor, r.End), TokensIn: r.Prompt, TokenSource: "usage"}
	if intended := stampOf(anchor, r.Scheduler.Targeted, r.Start); intended != nil {
		row.TIntended = *intended
	}
	if status == report.StatusOK {
		row.TokensOut = r.Output
	}
	if status == report.StatusFailed {
		row.ErrorClass, row.Status = tools.Classify(0, r.Error)
		row.Error = tools.Brief(r.Error)
	}
	return row
}
