package inferenceperf

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"math"
	"path"
	"slices"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

// Names of the files of a folder.
const (
	fileSummary    = "summary_lifecycle_metrics.json"
	fileStage      = "stage_%d_lifecycle_metrics.json"
	filePerRequest = "per_request_lifecycle_metrics.json"
)

// Write returns the folder of a run, one below it per measurement where there are several.
func Write(ctx context.Context, run tools.Run) ([]tools.File, error) {
	ms, err := tools.Measurements(ctx, run)
	if err != nil {
		return nil, err
	}
	notePercentiles(run)
	var files []tools.File
	for i := range ms {
		dir := ""
		if len(ms) > 1 {
			dir = fmt.Sprintf("%d", ms[i].Index)
		}
		more, err := folder(ctx, run, dir, &ms[i])
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	return files, nil
}

// notePercentiles notes those that were asked for and that no summary has.
func notePercentiles(run tools.Run) {
	written := slices.Collect(maps.Values(quantileNames()))
	for i, p := range run.Percentiles {
		if run.Note != nil && !slices.Contains(written, percentileName(p)) && !slices.Contains(run.Percentiles[:i], p) {
			run.Note(fmt.Sprintf("percentile %g is not one that load-gen writes in this format", p))
		}
	}
}

func folder(ctx context.Context, run tools.Run, dir string, m *tools.Measurement) ([]tools.File, error) {
	whole, requests := &totals{percentiles: run.Percentiles}, 0
	var files []tools.File
	for i := range m.Stages {
		s := &m.Stages[i]
		whole.stages = append(whole.stages, s)
		requests += s.Requests.Len()
		doc, err := lifecycleOf(ctx, m, &totals{stages: whole.stages[i:], percentiles: run.Percentiles})
		if err != nil {
			return nil, err
		}
		addStage(&doc.Load, s)
		files = append(files, tools.JSON(path.Join(dir, fmt.Sprintf(fileStage, i)), doc))
	}
	doc, err := lifecycleOf(ctx, m, whole)
	if err != nil {
		return nil, err
	}
	files = append(files, tools.JSON(path.Join(dir, fileSummary), doc))
	if requests > 0 {
		rows := tools.JSON(path.Join(dir, filePerRequest), everyRequest(m))
		rows.Rows = true
		files = append(files, rows)
	}
	return files, nil
}

// everyRequest is the list of the requests of all stages, each overwritten by the next.
func everyRequest(m *tools.Measurement) tools.Stream[*request] {
	return func(ctx context.Context) iter.Seq2[*request, error] {
		return func(yield func(*request, error) bool) {
			w := newRequestWriter()
			for i := range m.Stages {
				of := func(r *report.Row) *request { return w.requestOf(i, r) }
				for one, err := range tools.StreamRequests(m.Stages[i].Requests, of)(ctx) {
					if !yield(one, err) || err != nil {
						return
					}
				}
			}
		}
	}
}

// addStage adds what only the file of a stage has.
func addStage(to *load, s *tools.Stage) {
	sending := float64(s.EndNS-s.StartNS) / 1e9
	requested, achieved := s.Rates["offered_rate"], s.Rates["achieved_rate"]
	if s.Rate > 0 {
		requested = s.Rate
	}
	var streams *int
	if n := s.Planned.Concurrency; n > 0 {
		streams = &n
	}
	to.SendDuration, to.Requested, to.Achieved = &sending, &requested, &achieved
	to.Concurrency = &streams
}

// lifecycleOf is the report over stages.
func lifecycleOf(ctx context.Context, m *tools.Measurement, t *totals) (*lifecycle, error) {
	count, ok := 0, 0
	for _, s := range t.stages {
		count += s.Counts.Total - s.Counts.ByStatus[report.StatusDropped]
		ok += s.Counts.ByStatus[report.StatusOK]
	}
	promptLen, seconds := t.merged("tokens_in", 1), length(t.stages)
	doc := &lifecycle{Time: &seconds, ExportedBy: tools.ExportedBy, Failures: t.failures(ctx),
		Load: load{Count: count, Delay: t.delays()},
		Successes: successes{Count: ok, Goodput: goodputOf(t.stages), Latency: t.latencies(),
			OutputLen: t.merged("tokens_out", 1), Output: t.outputTokens(), PromptLen: &promptLen, Prompt: t.promptTokens(),
			RequestSize: t.sizes(), Throughput: throughputOf(t.stages)},
		TokenCountSource: &m.TokenCountSource, Tool: &m.Tool, ToolVersion: &m.ToolVersion}
	return doc, t.err
}

// latencies are of the requests that ended well. Time to first token is to the first content: the tool does not see
// reasoning. Its gaps are perceived ones, 0 between tokens of one event.
func (t *totals) latencies() latency {
	return latency{InterToken: t.merged("itl_perceived", 1e-3), NormalizedPerToken: t.merged("ntpot", 1e-3),
		Request: t.merged("e2e", 1e-3), PerToken: t.merged("tpot", 1e-3), FirstToken: t.merged("ttfc", 1e-3)}
}

// delays are send - intended, whatever became of the request.
func (t *totals) delays() values {
	d := report.NewDistribution("s")
	for r := range t.requests() {
		if r.TSend != nil {
			d.Add(float64(*r.TSend-r.TIntended) / 1e9)
		}
	}
	if d.N() > 0 {
		return t.statistics(d, 1)
	}
	return t.merged("sched_lag", 1e-3)
}

// length is from the first send to the last end.
func length(stages []*tools.Stage) float64 {
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, s := range stages {
		first, last = min(first, s.StartNS), max(last, s.DrainEndNS, s.Window.EndNS)
	}
	return float64(last-first) / 1e9
}

// throughputOf is over the whole run, drain included. Requests of ours have no media.
func throughputOf(stages []*tools.Stage) throughput {
	var in, out int64
	ok := 0
	for _, s := range stages {
		in, out, ok = in+s.Tokens.In, out+s.Tokens.Out, ok+s.Counts.ByStatus[report.StatusOK]
	}
	total, media := length(stages), 0.0
	rate := func(n float64, name string) *float64 {
		v := 0.0
		if total > 0 {
			v = n / total
		}
		if given, found := stages[0].Rates[name]; found && len(stages) == 1 {
			v = given
		}
		return &v
	}
	return throughput{Audios: &media, Images: &media, Videos: &media,
		InputTokens:  rate(float64(in), "input_token_rate_run"),
		OutputTokens: rate(float64(out), "output_token_rate_run"),
		Requests:     rate(float64(ok), "request_rate_run"),
		TotalTokens:  rate(float64(in+out), "total_token_rate_run")}
}

func (t *totals) sizes() values {
	d := report.NewDistribution("bytes")
	for r := range t.requests() {
		if r.Status == report.StatusOK && r.BytesOut > 0 {
			d.Add(float64(r.BytesOut))
		}
	}
	return t.statistics(d, 1)
}

func (t *totals) promptTokens() values {
	out := t.merged("tokens_in", 1)
	if out == nil {
		out = values{}
	}
	var in, cached int64
	for _, s := range t.stages {
		in, cached = in+s.Tokens.In, cached+s.Tokens.Cached
	}
	out.setTotals(float64(in), float64(cached))
	return out
}

func (t *totals) outputTokens() values {
	out := t.merged("tokens_out", 1)
	if out == nil {
		out = values{}
	}
	var n int64
	for _, s := range t.stages {
		n += s.Tokens.Out
	}
	out.set(statTotal, float64(n))
	return out
}

// goodputOf is a share of the successful requests: the tool leaves failed ones out.
func goodputOf(stages []*tools.Stage) *goodput {
	var good, ok int
	var rate, tokens, window float64
	for _, s := range stages {
		if s.Goodput == nil {
			return nil
		}
		good, ok = good+s.Goodput.Good, ok+s.Counts.ByStatus[report.StatusOK]
		rate, tokens = rate+s.Goodput.RequestsPerS*s.WindowS, tokens+s.Goodput.TokensPerS*s.WindowS
		window += s.WindowS
	}
	if ok == 0 || window <= 0 {
		return nil
	}
	rate, tokens = rate/window, tokens/window
	return &goodput{Good: good, Percentage: 100 * float64(good) / float64(ok), Requests: &rate, Tokens: &tokens, Total: ok}
}
