package aiperf

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/sheet"
	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/runplan"
)

// Names of the files of a folder.
const (
	fileStem   = "profile_export"
	fileJSON   = fileStem + "_aiperf.json"
	fileCSV    = fileStem + "_aiperf.csv"
	fileRows   = fileStem + ".jsonl"
	fileSlices = fileStem + "_aiperf_timeslices.json"
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
			dir, s := "", &ms[i].Stages[j]
			if len(ms) > 1 || len(ms[i].Stages) > 1 {
				name := strings.ReplaceAll(s.Planned.Name, "/", "_")
				dir = fmt.Sprintf("%d-%d-%s", ms[i].Index, s.StageResult.Stage, name)
			}
			files = append(files, artifacts(dir, run, &ms[i], s)...)
		}
	}
	return files, nil
}

func artifacts(dir string, run tools.Run, m *tools.Measurement, s *tools.Stage) []tools.File {
	perRequest, whole := distributions(s), scalars(s)
	doc := summaryOf(run, m, s)
	for _, n := range slices.Concat(perRequest, whole) {
		doc.Metrics[n.tag] = n.result
	}
	files := []tools.File{
		tools.JSON(path.Join(dir, fileJSON), doc),
		{Name: path.Join(dir, fileCSV), Write: func(_ context.Context, w io.Writer) error {
			return table(w, perRequest, whole)
		}},
	}
	if all := timeslicesOf(run, m, s); len(all) > 0 {
		files = append(files, tools.JSON(path.Join(dir, fileSlices), timeslices{Slices: all}))
	}
	if s.Requests.Len() > 0 {
		rows := tools.JSONLines(path.Join(dir, fileRows), requests(m, s))
		rows.Rows = true
		files = append(files, rows)
	}
	for i := range files {
		files[i].Stem = fileStem
	}
	return files
}

// local is a time as the tool writes it, without a zone. Ours is UTC.
func local(ns int64) string { return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000000") }

// summaryOf is the summary of a stage but for its metrics.
func summaryOf(run tools.Run, m *tools.Measurement, s *tools.Stage) *summary {
	id := run.Report.Run.ID
	return &summary{Version: writtenVersion, BenchmarkID: id, End: local(max(s.DrainEndNS, s.Window.EndNS)),
		Errors: errorSummary(s), ExportedBy: tools.ExportedBy, Input: inputConfig(run, m, s), Complete: m.Complete,
		RunInfo: runInfo{BenchmarkID: id, Label: &s.Planned.Name}, Schema: writtenSchema, Start: local(s.StartNS),
		TokenCountSource: &m.TokenCountSource, Tool: &m.Tool, ToolVersion: &m.ToolVersion, Cancelled: s.Interrupted,
		Metrics: map[string]result{}}
}

// errorSummary counts failures by class.
func errorSummary(s *tools.Stage) []errorCount {
	out := []errorCount{}
	for _, class := range classes() {
		if n := s.Counts.ByClass[class]; n > 0 {
			out = append(out, errorCount{Count: n, Details: rowError{Type: class, Message: class}})
		}
	}
	return out
}

func classes() []string {
	return []string{report.ErrDial, report.ErrTLS, report.ErrHTTP4xx, report.ErrHTTP429, report.ErrHTTP5xx,
		report.ErrErrorInStream, report.ErrTruncated, report.ErrReset, report.ErrStall, report.ErrDeadline,
		report.ErrCancelled, report.ErrBadPayload, report.ErrTooLarge}
}

// inputConfig is the plan in the words of the tool. It holds no header and no key.
func inputConfig(run tools.Run, m *tools.Measurement, s *tools.Stage) *config {
	url, name := tools.Target(run.Report)
	data := dataset{Name: "main", Type: "synthetic", Entries: max(1, s.Counts.Total)}
	if in, out := m.Plan.Data.Input, m.Plan.Data.Output; in != nil || out != nil {
		data.Prompts = &prompts{Input: lengthOf(in), Output: lengthOf(out)}
	}
	c := &config{Datasets: []dataset{data}, Models: models{Items: []model{{Name: name}}}, Phases: []phase{phaseOf(s)},
		Endpoint: endpoint{Type: endpointType(m.Plan.API.Type), Streaming: m.Plan.API.Stream}}
	if url != "" {
		c.Endpoint.URLs = []string{url}
	}
	return c
}

func lengthOf(l *runplan.Length) *length {
	if l == nil {
		return nil
	}
	return &length{Mean: l.Mean, Stdev: max(0, l.Stdev)}
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

func phaseOf(s *tools.Stage) phase {
	p := phase{Name: "profiling", Kind: "profiling", Type: "concurrency", Requests: max(0, s.Planned.Requests),
		Duration: max(0, s.Planned.Duration.Seconds()), Concurrency: max(0, s.Planned.Concurrency, s.Planned.MaxInflight)}
	if rate := max(s.Rate, s.Planned.Rate); rate > 0 {
		p.Type, p.Rate, p.Smoothness = s.Planned.Arrival, rate, max(0, s.Planned.Burstiness)
	} else if p.Concurrency == 0 {
		p.Concurrency = max(1, s.Counts.Total)
	}
	return p
}

// table writes the metrics with quantiles, a blank line, and the scalars.
func table(w io.Writer, perRequest, whole []named) error {
	out := sheet.NewWriter(w)
	lines := [][]string{
		{"Metric", "avg", "min", "max", "sum", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "std"},
	}
	for _, n := range perRequest {
		r := n.result
		line := []string{n.title + " (" + n.Unit + ")"}
		for _, v := range []*float64{r.Avg, r.Min, r.Max, r.Sum, r.P1, r.P5, r.P10, r.P25, r.P50, r.P75, r.P90, r.P95,
			r.P99, r.Std} {
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
