// Package inferenceperf writes and reads the folder of inference-perf: the summary, one file per stage and the list of
// requests. All times are s; the 50th percentile is named median and there is no standard deviation.
package inferenceperf

import (
	"context"
	"fmt"
	"iter"
	"math"
	"path"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

type object = map[string]any

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
	var files []tools.File
	for i := range ms {
		dir := ""
		if len(ms) > 1 {
			dir = fmt.Sprintf("%d", ms[i].Index)
		}
		more, err := folder(ctx, dir, &ms[i])
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	return files, nil
}

func folder(ctx context.Context, dir string, m *tools.Measurement) ([]tools.File, error) {
	whole, requests := &totals{}, 0
	var files []tools.File
	for i := range m.Stages {
		s := &m.Stages[i]
		whole.stages = append(whole.stages, s)
		requests += s.Requests.Len()
		doc, err := lifecycle(ctx, m, &totals{stages: whole.stages[i:]})
		if err != nil {
			return nil, err
		}
		stageOnly(doc["load_summary"].(object), s)
		files = append(files, tools.JSON(path.Join(dir, fmt.Sprintf(fileStage, i)), doc))
	}
	doc, err := lifecycle(ctx, m, whole)
	if err != nil {
		return nil, err
	}
	files = append(files, tools.JSON(path.Join(dir, fileSummary), doc))
	if requests > 0 {
		files = append(files, tools.JSON(path.Join(dir, filePerRequest), everyRequest(m)))
	}
	return files, nil
}

// everyRequest is the list of the requests of all stages.
func everyRequest(m *tools.Measurement) tools.List {
	numbers := tools.Numbers()
	return func(ctx context.Context) iter.Seq2[any, error] {
		return func(yield func(any, error) bool) {
			for i := range m.Stages {
				list := tools.RequestsAs(m.Stages[i].Requests, func(r *report.Row) any { return perRequest(numbers, i, r) })
				for request, err := range list(ctx) {
					if !yield(request, err) {
						return
					}
				}
			}
		}
	}
}

// stageOnly adds what only the file of a stage has.
func stageOnly(load object, s *tools.Stage) {
	load["send_duration"] = float64(s.EndNS-s.StartNS) / 1e9
	load["requested_rate"], load["concurrency"] = s.Rates["offered_rate"], nil
	if s.Rate > 0 {
		load["requested_rate"] = s.Rate
	}
	if n := s.Planned.Concurrency; n > 0 {
		load["concurrency"] = n
	}
	load["achieved_rate"] = s.Rates["achieved_rate"]
}

// lifecycle is the report over stages.
func lifecycle(ctx context.Context, m *tools.Measurement, t *totals) (object, error) {
	count, ok, images := 0, 0, 0.0
	for _, s := range t.stages {
		count += s.Counts.Total - s.Counts.ByStatus[report.StatusDropped]
		ok += s.Counts.ByStatus[report.StatusOK]
	}
	successes := object{
		"count": ok, "latency": t.latencies(), "throughput": throughput(t.stages, images), "request_size_bytes": t.sizes(),
		"image": media("pixels", "bytes", "aspect_ratio"), "video": media("frames", "pixels", "bytes", "aspect_ratio"), "audio": media("seconds", "bytes"),
		"prompt_tokens": t.promptTokens(), "prompt_len": t.merged("tokens_in", 1), "output_len": t.merged("tokens_out", 1),
		"output_tokens": t.outputTokens(), "token_count_mismatches": 0, "client_fallback_requests": object{"prompt": 0, "output": 0},
	}
	if g := goodput(t.stages); g != nil {
		successes["goodput_metrics"] = g
	}
	doc := object{
		"benchmark_time_seconds": length(t.stages),
		"load_summary":           object{"count": count, "schedule_delay": t.delays()},
		"successes":              successes, "failures": t.failures(ctx),
		"exported_by": tools.ExportedBy, "tool": m.Tool, "tool_version": m.ToolVersion, "token_count_source": m.TokenCountSource,
	}
	return doc, t.err
}

// latencies are of the requests that ended well. Time to first token is to the first content: the tool does not see
// reasoning. Its gaps are perceived ones, 0 between tokens of one event.
func (t *totals) latencies() object {
	return object{"request_latency": t.merged("e2e", 1e-3), "normalized_time_per_output_token": t.merged("ntpot", 1e-3),
		"time_per_output_token": t.merged("tpot", 1e-3), "time_to_first_token": t.merged("ttfc", 1e-3),
		"inter_token_latency": t.merged("itl_perceived", 1e-3)}
}

// delays are send - intended, whatever became of the request.
func (t *totals) delays() any {
	d := report.NewDistribution("s")
	for r := range t.requests() {
		if r.TSend != nil {
			d.Add(float64(*r.TSend-r.TIntended) / 1e9)
		}
	}
	if d.N() > 0 {
		return statistics(d, 1)
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

// throughput is over the whole run, drain included.
func throughput(stages []*tools.Stage, media float64) object {
	total := length(stages)
	var in, out int64
	ok := 0
	for _, s := range stages {
		in, out, ok = in+s.Tokens.In, out+s.Tokens.Out, ok+s.Counts.ByStatus[report.StatusOK]
	}
	r := object{"images_per_sec": media, "videos_per_sec": media, "audios_per_sec": media}
	for key, name := range map[string]string{"input_tokens_per_sec": "input_token_rate_run", "output_tokens_per_sec": "output_token_rate_run",
		"total_tokens_per_sec": "total_token_rate_run", "requests_per_sec": "request_rate_run"} {
		n := map[string]float64{"input_token_rate_run": float64(in), "output_token_rate_run": float64(out),
			"total_token_rate_run": float64(in + out), "request_rate_run": float64(ok)}[name]
		r[key] = 0.0
		if total > 0 {
			r[key] = n / total
		}
		if v, given := stages[0].Rates[name]; given && len(stages) == 1 {
			r[key] = v
		}
	}
	return r
}

func (t *totals) sizes() any {
	d := report.NewDistribution("bytes")
	for r := range t.requests() {
		if r.Status == report.StatusOK && r.BytesOut > 0 {
			d.Add(float64(r.BytesOut))
		}
	}
	return statistics(d, 1)
}

func media(fields ...string) object {
	out := object{"count": nil}
	for _, f := range fields {
		out[f] = nil
	}
	return out
}

func (t *totals) promptTokens() object {
	out := object{}
	if s, ok := t.merged("tokens_in", 1).(object); ok {
		out = s
	}
	var in, cached int64
	for _, s := range t.stages {
		in, cached = in+s.Tokens.In, cached+s.Tokens.Cached
	}
	out["total"], out["cached"], out["uncached"] = float64(in), float64(cached), float64(in-cached)
	return out
}

func (t *totals) outputTokens() object {
	out := object{}
	if s, ok := t.merged("tokens_out", 1).(object); ok {
		out = s
	}
	var n int64
	for _, s := range t.stages {
		n += s.Tokens.Out
	}
	out["total"] = float64(n)
	return out
}

// goodput is a share of the successful requests in percent: the tool leaves failed ones out.
func goodput(stages []*tools.Stage) any {
	good, ok, rate, tokens, window := 0, 0, 0.0, 0.0, 0.0
	for _, s := range stages {
		if s.Goodput == nil {
			return nil
		}
		good, ok = good+s.Goodput.Good, ok+s.Counts.ByStatus[report.StatusOK]
		rate, tokens, window = rate+s.Goodput.RequestsPerS*s.WindowS, tokens+s.Goodput.TokensPerS*s.WindowS, window+s.WindowS
	}
	if ok == 0 || window <= 0 {
		return nil
	}
	return object{"goodput_percentage": 100 * float64(good) / float64(ok), "request_goodput": rate / window, "token_goodput": tokens / window,
		"good_requests": good, "total_requests": ok}
}
