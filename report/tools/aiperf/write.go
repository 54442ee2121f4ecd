// Package aiperf writes and reads the artifacts of AIPerf: the summary in JSON and CSV and the requests in JSONL.
package aiperf

import (
	"context"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/sheet"
	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/runplan"
)

type object = map[string]any

// Names of the files of a folder.
const (
	fileJSON   = "profile_export_aiperf.json"
	fileCSV    = "profile_export_aiperf.csv"
	fileRows   = "profile_export.jsonl"
	fileSlices = "profile_export_aiperf_timeslices.json"
)

// Release and schema that are written.
const (
	writtenVersion = "0.13.0"
	writtenSchema  = "1.4"
)

// Write returns the artifacts of a run: one folder per measured stage where there are several, as the tool makes one
// per point of a sweep.
func Write(ctx context.Context, run tools.Run) ([]tools.File, error) {
	ms, err := tools.Measurements(ctx, run)
	if err != nil {
		return nil, err
	}
	var files []tools.File
	for i := range ms {
		for j := range ms[i].Stages {
			dir := ""
			if len(ms) > 1 || len(ms[i].Stages) > 1 {
				dir = fmt.Sprintf("%d-%d-%s", ms[i].Index, ms[i].Stages[j].StageResult.Stage, strings.ReplaceAll(ms[i].Stages[j].Planned.Name, "/", "_"))
			}
			files = append(files, artifacts(dir, run, &ms[i], &ms[i].Stages[j])...)
		}
	}
	return files, nil
}

func artifacts(dir string, run tools.Run, m *tools.Measurement, s *tools.Stage) []tools.File {
	perRequest, whole := distributions(s), scalars(s)
	files := []tools.File{
		tools.JSON(path.Join(dir, fileJSON), document(run, m, s, append(append([]named{}, perRequest...), whole...))),
		{Name: path.Join(dir, fileCSV), Write: func(_ context.Context, w io.Writer) error { return table(w, perRequest, whole) }},
	}
	if slices := timeslices(run, m, s); len(slices) > 0 {
		files = append(files, tools.JSON(path.Join(dir, fileSlices), object{"timeslices": slices}))
	}
	if s.Requests.Len() > 0 {
		files = append(files, tools.JSONLines(path.Join(dir, fileRows), requests(m, s)))
	}
	return files
}

// local is a time as the tool writes it, without a zone. Ours is UTC.
func local(ns int64) string { return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000000") }

func document(run tools.Run, m *tools.Measurement, s *tools.Stage, metrics []named) object {
	doc := object{"schema_version": writtenSchema, "aiperf_version": writtenVersion, "benchmark_id": run.Report.Run.ID, "exported_by": tools.ExportedBy,
		"token_count_source": m.TokenCountSource, "tool": m.Tool, "tool_version": m.ToolVersion,
		"start_time": local(s.StartNS), "end_time": local(max(s.DrainEndNS, s.Window.EndNS)), "input_config": inputConfig(run, m, s),
		"run_info":      object{"benchmark_id": run.Report.Run.ID, "trial": 0, "run_label": s.Planned.Name},
		"was_cancelled": s.Interrupted, "is_complete": m.Complete, "error_summary": errorSummary(s)}
	for _, n := range metrics {
		doc[n.tag] = n.result
	}
	return doc
}

// errorSummary counts failures by class.
func errorSummary(s *tools.Stage) []object {
	out := []object{}
	for _, class := range classes() {
		if n := s.Counts.ByClass[class]; n > 0 {
			out = append(out, object{"error_details": object{"type": class, "message": class}, "count": n})
		}
	}
	return out
}

func classes() []string {
	return []string{report.ErrDial, report.ErrTLS, report.ErrHTTP4xx, report.ErrHTTP429, report.ErrHTTP5xx, report.ErrErrorInStream, report.ErrTruncated,
		report.ErrReset, report.ErrStall, report.ErrDeadline, report.ErrCancelled, report.ErrBadPayload, report.ErrTooLarge}
}

// inputConfig is the plan in the words of the tool. It holds no header and no key.
func inputConfig(run tools.Run, m *tools.Measurement, s *tools.Stage) object {
	url, model := tools.Target(run.Report)
	prompts := object{}
	if l := m.Plan.Data.Input; l != nil {
		prompts["isl"] = lengthOf(l)
	}
	if l := m.Plan.Data.Output; l != nil {
		prompts["osl"] = lengthOf(l)
	}
	data := object{"name": "main", "type": "synthetic", "entries": max(1, s.Counts.Total)}
	if len(prompts) > 0 {
		data["prompts"] = prompts
	}
	endpoint := object{"type": endpointType(m.Plan.API.Type), "streaming": m.Plan.API.Stream}
	if url != "" {
		endpoint["urls"] = []string{url}
	}
	return object{"models": object{"items": []object{{"name": model}}}, "endpoint": endpoint, "datasets": []object{data}, "phases": []object{phase(s)}}
}

func lengthOf(l *runplan.Length) object {
	out := object{"mean": l.Mean}
	if l.Stdev > 0 {
		out["stddev"] = l.Stdev
	}
	return out
}

func endpointType(api string) string {
	switch api {
	case runplan.APICompletions, runplan.APIResponses, runplan.APIEmbeddings, runplan.APIMessages:
		return api
	case runplan.APITGI:
		return "huggingface_generate"
	}
	return "chat"
}

func phase(s *tools.Stage) object {
	out := object{"name": "profiling", "kind": "profiling", "type": "concurrency"}
	if s.Planned.Requests > 0 {
		out["requests"] = s.Planned.Requests
	}
	if s.Planned.Duration > 0 {
		out["duration"] = s.Planned.Duration.Seconds()
	}
	if n := max(s.Planned.Concurrency, s.Planned.MaxInflight); n > 0 {
		out["concurrency"] = n
	}
	if rate := max(s.Rate, s.Planned.Rate); rate > 0 {
		out["type"], out["rate"] = s.Planned.Arrival, rate
		if s.Planned.Burstiness > 0 {
			out["smoothness"] = s.Planned.Burstiness
		}
	} else if out["concurrency"] == nil {
		out["concurrency"] = max(1, s.Counts.Total)
	}
	return out
}

// table writes the metrics with quantiles, a blank line, and the scalars.
func table(w io.Writer, perRequest, whole []named) error {
	out := sheet.NewWriter(w)
	lines := [][]string{{"Metric", "avg", "min", "max", "sum", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "std"}}
	for _, n := range perRequest {
		r := n.result
		line := []string{n.title + " (" + n.Unit + ")"}
		for _, v := range []*float64{r.Avg, r.Min, r.Max, r.Sum, r.P1, r.P5, r.P10, r.P25, r.P50, r.P75, r.P90, r.P95, r.P99, r.Std} {
			line = append(line, cell(v))
		}
		lines = append(lines, line)
	}
	lines = append(lines, nil, []string{"Metric", "Value"})
	for _, n := range whole {
		title := n.title
		if n.Unit != "requests" {
			title += " (" + n.Unit + ")"
		}
		lines = append(lines, []string{title, cell(n.Avg)})
	}
	lines = append(lines, []string{"Exported By", tools.ExportedBy})
	for _, line := range lines {
		if line == nil {
			out.Flush()
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
			continue
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func cell(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'f', 2, 64)
}
