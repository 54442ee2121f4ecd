// Package inferenceperf writes and reads the folder of inference-perf: the summary, one file per stage and the list of
// requests. All times are s; the 50th percentile is named median and there is no standard deviation.
package inferenceperf

import (
	"fmt"
	"math"
	"path"

	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/report/tools"
)

type object = map[string]any

// Names of the files of a folder.
const (
	fileSummary    = "summary_lifecycle_metrics.json"
	fileStage      = "stage_%d_lifecycle_metrics.json"
	filePerRequest = "per_request_lifecycle_metrics.json"
)

// Write returns the folder of a run, one below it per measurement where there are several.
func Write(run tools.Run) ([]tools.File, error) {
	ms, err := tools.Measurements(run)
	if err != nil {
		return nil, err
	}
	var files []tools.File
	for i := range ms {
		dir := ""
		if len(ms) > 1 {
			dir = fmt.Sprintf("%d", ms[i].Index)
		}
		files = append(files, folder(dir, &ms[i])...)
	}
	return files, nil
}

func folder(dir string, m *tools.Measurement) []tools.File {
	whole := make([]source, len(m.Stages))
	requests, numbers := []object{}, tools.Numbers()
	var files []tools.File
	for i := range m.Stages {
		s := &m.Stages[i]
		whole[i] = source{s}
		doc := lifecycle(m, whole[i:i+1])
		stageOnly(doc["load_summary"].(object), s)
		files = append(files, tools.JSON(path.Join(dir, fmt.Sprintf(fileStage, i)), doc))
		for j := range s.Rows {
			requests = append(requests, perRequest(numbers, i, &s.Rows[j]))
		}
	}
	files = append(files, tools.JSON(path.Join(dir, fileSummary), lifecycle(m, whole)))
	if len(requests) > 0 {
		files = append(files, tools.JSON(path.Join(dir, filePerRequest), requests))
	}
	return files
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
func lifecycle(m *tools.Measurement, stages []source) object {
	var rows []report.Row
	count, ok, images := 0, 0, 0.0
	for _, s := range stages {
		rows = append(rows, s.Rows...)
		count += s.Counts.Total - s.Counts.ByStatus[report.StatusDropped]
		ok += s.Counts.ByStatus[report.StatusOK]
	}
	successes := object{
		"count": ok, "latency": latencies(stages), "throughput": throughput(stages, images), "request_size_bytes": sizes(rows),
		"image": media("pixels", "bytes", "aspect_ratio"), "video": media("frames", "pixels", "bytes", "aspect_ratio"), "audio": media("seconds", "bytes"),
		"prompt_tokens": promptTokens(stages), "prompt_len": merged(stages, "tokens_in", 1), "output_len": merged(stages, "tokens_out", 1),
		"output_tokens": outputTokens(stages), "token_count_mismatches": 0, "client_fallback_requests": object{"prompt": 0, "output": 0},
	}
	if g := goodput(stages); g != nil {
		successes["goodput_metrics"] = g
	}
	return object{
		"benchmark_time_seconds": length(stages),
		"load_summary":           object{"count": count, "schedule_delay": delays(stages)},
		"successes":              successes, "failures": failures(stages, rows),
		"exported_by": tools.ExportedBy, "tool": m.Tool, "tool_version": m.ToolVersion, "token_count_source": m.TokenCountSource,
	}
}

// latencies are of the requests that ended well. Time to first token is to the first content: the tool does not see
// reasoning. Its gaps are perceived ones, 0 between tokens of one event.
func latencies(stages []source) object {
	return object{"request_latency": merged(stages, "e2e", 1e-3), "normalized_time_per_output_token": merged(stages, "ntpot", 1e-3),
		"time_per_output_token": merged(stages, "tpot", 1e-3), "time_to_first_token": merged(stages, "ttfc", 1e-3),
		"inter_token_latency": merged(stages, "itl_perceived", 1e-3)}
}

// delays are send - intended, whatever became of the request.
func delays(stages []source) any {
	d := report.NewDistribution("s")
	for _, s := range stages {
		for i := range s.Rows {
			if r := &s.Rows[i]; r.TSend != nil {
				d.Add(float64(*r.TSend-r.TIntended) / 1e9)
			}
		}
	}
	if d.N() > 0 {
		return statistics(d, 1)
	}
	return merged(stages, "sched_lag", 1e-3)
}

// length is from the first send to the last end.
func length(stages []source) float64 {
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, s := range stages {
		first, last = min(first, s.StartNS), max(last, s.DrainEndNS, s.Window.EndNS)
	}
	return float64(last-first) / 1e9
}

// throughput is over the whole run, drain included.
func throughput(stages []source, media float64) object {
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

func sizes(rows []report.Row) any {
	d := report.NewDistribution("bytes")
	for i := range rows {
		if rows[i].Status == report.StatusOK && rows[i].BytesOut > 0 {
			d.Add(float64(rows[i].BytesOut))
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

func promptTokens(stages []source) object {
	out := object{}
	if s, ok := merged(stages, "tokens_in", 1).(object); ok {
		out = s
	}
	var in, cached int64
	for _, s := range stages {
		in, cached = in+s.Tokens.In, cached+s.Tokens.Cached
	}
	out["total"], out["cached"], out["uncached"] = float64(in), float64(cached), float64(in-cached)
	return out
}

func outputTokens(stages []source) object {
	out := object{}
	if s, ok := merged(stages, "tokens_out", 1).(object); ok {
		out = s
	}
	var n int64
	for _, s := range stages {
		n += s.Tokens.Out
	}
	out["total"] = float64(n)
	return out
}

// goodput is a share of the successful requests in percent: the tool leaves failed ones out.
func goodput(stages []source) any {
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
