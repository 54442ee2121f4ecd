package guidellm

import (
	"context"
	"encoding/json"
	"fmt"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/runplan"
)

// bench2 is a benchmark of 0.4 and later.
type bench2 struct {
	Config struct {
		Strategy loadStrategy  `json:"strategy"`
		Backend  backendConfig `json:"backend"`
		Warmup   trimConfig    `json:"warmup"`
		Cooldown trimConfig    `json:"cooldown"`
	} `json:"config"`
	Scheduler struct {
		Start        float64   `json:"start_time"`
		RequestStart float64   `json:"request_start_time"`
		MeasureStart float64   `json:"measure_start_time"`
		MeasureEnd   float64   `json:"measure_end_time"`
		RequestEnd   float64   `json:"request_end_time"`
		End          float64   `json:"end_time"`
		Made         breakdown `json:"requests_made"`
	} `json:"scheduler_metrics"`
	Metrics  map[string]json.RawMessage `json:"metrics"`
	Warnings []struct {
		Code      string  `json:"code"`
		Message   string  `json:"message"`
		Observed  float64 `json:"observed"`
		Threshold float64 `json:"threshold"`
	} `json:"warnings"`
}

type trimConfig struct {
	Percent *float64 `json:"percent"`
	Value   *float64 `json:"value"`
	Mode    string   `json:"mode"` // what Value counts
}

type row2 struct {
	ID   string `json:"request_id"`
	Info struct {
		Conversation string   `json:"conversation_id"`
		Turn         int      `json:"turn_index"`
		Status       string   `json:"status"`
		Error        string   `json:"error"`
		Timings      timings2 `json:"timings"`
	} `json:"info"`
	Prompt *int `json:"prompt_tokens"`
	Cached *int `json:"cached_tokens"`
	Output *int `json:"output_tokens"`
	In     struct {
		Text *int `json:"text_tokens"`
	} `json:"input_metrics"`
	Out struct {
		Text *int `json:"text_tokens"`
	} `json:"output_metrics"`
}

type timings2 struct {
	Targeted     *float64 `json:"targeted_start"`
	ResolveStart *float64 `json:"resolve_start"`
	Start        *float64 `json:"request_start"`
	FirstByte    *float64 `json:"first_request_iteration"`
	First        *float64 `json:"first_token_iteration"`
	Content      *float64 `json:"first_output_token_iteration"`
	Last         *float64 `json:"last_token_iteration"`
	End          *float64 `json:"request_end"`
	ResolveEnd   *float64 `json:"resolve_end"`
	Tokens       *int     `json:"token_iterations"`
}

// stage2 reads a benchmark of 0.4 and later.
func stage2(_ context.Context, in *tools.Imported, doc tools.Document, lists requestLists, sessions tools.Sessions) (tools.ImportedStage, error) {
	var b bench2
	if err := tools.Decode(doc, &b); err != nil {
		return tools.ImportedStage{}, err
	}
	setBackend(in, b.Config.Backend)
	anchor := b.Scheduler.Start
	ns, ok := tools.Seconds(anchor)
	if !ok || ns == 0 {
		return tools.ImportedStage{}, fmt.Errorf("reading %q: scheduler_metrics.start_time: want unix seconds, found %g", doc.Path, anchor)
	}
	if in.AnchorUnixNS == 0 {
		in.AnchorUnixNS = ns
	}
	s := tools.ImportedStage{Planned: b.Config.Strategy.stage(len(in.Stages)), Ended: "duration", Metrics: map[string]report.Metric{}, Rates: map[string]float64{}}
	s.Planned.SkipFirst, s.Planned.SkipLast = b.Config.Warmup.trim(), b.Config.Cooldown.trim()
	s.Span(b.Scheduler.RequestStart, b.Scheduler.End, b.Scheduler.MeasureStart, b.Scheduler.MeasureEnd)
	var totals breakdown
	if err := field(doc, b.Metrics, "request_totals", &totals); err != nil {
		return s, err
	}
	s.Counts = totals.counts(b.Scheduler.Made.Total)
	if err := b.metrics(doc, &s); err != nil {
		return s, err
	}
	zero := float64(in.AnchorUnixNS) / 1e9
	s.Rows = rows(lists, func(r *row2, status string) report.Row { return r.row(zero, status, sessions) })
	s.Whole = lists.len("successful") == totals.Successful
	if !s.Whole {
		in.Note("%s: %d of %d successful requests are in the file: latencies are the tool's own, tpot and tpot_incl weighted by tokens",
			s.Planned.Name, lists.len("successful"), totals.Successful)
	}
	for _, w := range b.Warnings {
		in.Note("%s: GuideLLM warns: %s", s.Planned.Name, w.Message)
	}
	return s, nil
}

func (t trimConfig) trim() runplan.Trim {
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

// field decodes one metric where it is there.
func field(doc tools.Document, from map[string]json.RawMessage, name string, into any) error {
	raw, ok := from[name]
	if !ok || string(raw) == "null" {
		return nil
	}
	return tools.Decode(tools.Document{Path: doc.Path + ".metrics." + name, Data: raw}, into)
}

// metrics takes the tool's own numbers of the successful requests, in our units.
func (b *bench2) metrics(doc tools.Document, s *tools.ImportedStage) error {
	for _, m := range []struct {
		theirs, ours string
		factor       float64
	}{
		{"request_latency", "e2e", 1e3}, {"request_scheduled_latency", "e2e_intended", 1e3}, {"request_dispatch_delay", "sched_lag", 1e3},
		{"time_to_first_token_ms", "ttft", 1}, {"time_to_first_output_token_ms", "ttfc", 1}, {"inter_token_latency_ms", "tpot", 1},
		{"time_per_output_token_ms", "tpot_incl", 1}, {"prompt_token_count", "tokens_in", 1}, {"output_token_count", "tokens_out", 1},
		{"request_concurrency", "concurrency", 1},
	} {
		var d byState
		if err := field(doc, b.Metrics, m.theirs, &d); err != nil {
			return err
		}
		if v, ok := d.Successful.toMetric(report.Unit(m.ours), m.factor); ok {
			s.Metrics[m.ours] = v
		}
	}
	return rates(doc, b.Metrics, s)
}

// rates have a mean over the window; of tokens those of every request count. Their percentiles mean nothing.
func rates(doc tools.Document, metrics map[string]json.RawMessage, s *tools.ImportedStage) error {
	for theirs, ours := range map[string]string{"requests_per_second": "request_rate", "prompt_tokens_per_second": "input_token_rate",
		"output_tokens_per_second": "output_token_rate", "tokens_per_second": "total_token_rate"} {
		var d byState
		if err := field(doc, metrics, theirs, &d); err != nil {
			return err
		}
		from := d.Total
		if ours == "request_rate" {
			from = d.Successful
		}
		if from != nil {
			s.Rates[ours] = from.Mean
		}
	}
	if s.Planned.Rate > 0 {
		s.Rates["offered_rate"] = s.Planned.Rate
	}
	var in, out byState
	if err := field(doc, metrics, "prompt_token_count", &in); err != nil {
		return err
	}
	if err := field(doc, metrics, "output_token_count", &out); err != nil {
		return err
	}
	if in.Successful != nil && out.Successful != nil {
		s.Tokens.In, s.Tokens.Out = int64(in.Successful.TotalSum), int64(out.Successful.TotalSum)
	}
	var attainment *float64
	of := 0
	if err := field(doc, metrics, "slo_attainment", &attainment); err != nil {
		return err
	}
	if err := field(doc, metrics, "slo_determined_requests", &of); err != nil {
		return err
	}
	s.SetGoodput(attainment, of)
	return nil
}

func (r *row2) row(anchor float64, status string, sessions tools.Sessions) report.Row {
	t := &r.Info.Timings
	at := func(from ...*float64) *int64 { return stampOf(anchor, from...) }
	row := report.Row{ID: r.ID, Session: sessions.Number(r.Info.Conversation), Turn: r.Info.Turn, Phase: report.PhaseMeasured, Status: status,
		TSend: at(t.Start, t.ResolveStart), TFirstByte: at(t.FirstByte), TFirst: at(t.First), TContent: at(t.Content), TLast: at(t.Last),
		TEnd: at(t.End, t.ResolveEnd), TokensIn: pick(r.Prompt, r.In.Text), TokensCached: r.Cached, TokensOut: pick(r.Output, r.Out.Text),
		Events: t.Tokens, TokenSource: "usage"}
	if intended := at(t.Targeted, t.Start, t.ResolveStart); intended != nil {
		row.TIntended = *intended
	}
	if status == report.StatusFailed {
		row.ErrorClass, row.Status = tools.Classify(0, r.Info.Error)
		row.Error = tools.Brief(r.Info.Error)
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

func pick(counts ...*int) *int {
	for _, n := range counts {
		if n != nil && *n >= 0 {
			return n
		}
	}
	return nil
}
