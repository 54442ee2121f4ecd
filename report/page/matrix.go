package page

import (
	"fmt"
	"slices"
	"strings"

	"bflow.dev/bflow/load/shape"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/chart"
	"bflow.dev/bflow/verdict"
)

func matrixView(reports []*report.Report) view {
	v := view{Title: "Experiment", Subtitle: fmt.Sprintf("%d runs", len(reports))}
	var codes []int
	names := namesOf(reports)
	for i, r := range reports {
		v.Title, v.Version = r.Plan.Experiment, r.Run.BflowVersion
		if r.Verdict.Verdict != verdict.Pass {
			v.Reasons = append(v.Reasons, reasonsOf(names[i], r)...)
		}
		codes = append(codes, codeOf(r.Verdict.Verdict))
		v.Exit = verdict.ExitCode(v.Exit, r.Verdict.ExitCode)
	}
	v.Reasons = shortened(v.Reasons)
	v.Verdict = verdictPill(verdict.Word(verdict.ExitCode(codes...)))
	if len(reports) > 0 && !slices.ContainsFunc(reports, isJudged) {
		v.Verdict = verdictPill(verdict.NotJudged)
	}
	v.Facts = []fact{{"Runs", fmt.Sprint(len(reports))}, {"Exit code", fmt.Sprint(v.Exit)}}
	if len(reports) > 0 {
		v.Facts = append(v.Facts, fact{"Model", modelsOf(reports)})
	}
	v.Sections = keepFilled([]section{
		{ID: "points", Title: "Points", Tables: []table{pointTable(reports)},
			Note: "Each run by its headline stage: the highest load that is valid and holds every objective, else " +
				"the last one measured."},
		{ID: "charts", Title: "Curves per point", Figures: comparison(reports),
			Note: "A red ring marks a stage with errors. Point at a value to read it."},
		{ID: "stages", Title: "Every stage", Tables: []table{matrixStages(reports)}},
	})
	return v
}

func isJudged(r *report.Report) bool { return r.Verdict.Verdict != verdict.NotJudged }

// codeOf is the gravest exit code that a word can stand for.
func codeOf(word string) int {
	return map[string]int{verdict.Fail: 1, verdict.Invalid: 4, verdict.Inconclusive: 6}[word]
}

func reasonsOf(name string, r *report.Report) []string {
	out := make([]string, len(r.Verdict.Reasons))
	for i, reason := range r.Verdict.Reasons {
		out[i] = name + ": " + reason
	}
	return out
}

// namesOf are the names of the points; runs of the same point are told apart by their ids.
func namesOf(reports []*report.Report) []string {
	count := map[string]int{}
	for _, r := range reports {
		count[report.PointName(r)]++
	}
	out := make([]string, len(reports))
	for i, r := range reports {
		out[i] = report.PointName(r)
		if count[out[i]] > 1 {
			out[i] = r.Run.ID
		}
	}
	return out
}

func modelsOf(reports []*report.Report) string {
	first := reports[0].Plan.Deployment.Model.Name
	for _, r := range reports {
		if r.Plan.Deployment.Model.Name != first {
			return "several"
		}
	}
	return first
}

func pointTable(reports []*report.Report) table {
	t := table{Head: append([]cell{{Text: "Point"}}, stageHead()...)}
	t.Head[1].Class = "text"
	names := namesOf(reports)
	for i, r := range reports {
		row := []cell{{Text: names[i], Sub: r.Run.ID}}
		if s := report.Headline(r); s != nil {
			row = append(row, stageRow(s)...)
			row[1].Class = "text"
		}
		for len(row) < len(t.Head) {
			row = append(row, cell{Text: absent})
		}
		p := verdictPill(r.Verdict.Verdict)
		row[2] = cell{Pill: &p, Class: "text"}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func matrixStages(reports []*report.Report) table {
	t := table{Head: append([]cell{{Text: "Point"}}, stageHead()...)}
	t.Head[1].Class = "text"
	names := namesOf(reports)
	for k, r := range reports {
		for i := range r.Measurements {
			for _, s := range measuredStages(&r.Measurements[i]) {
				row := append([]cell{{Text: names[k]}}, stageRow(s)...)
				row[1].Class = "text"
				t.Rows = append(t.Rows, row)
			}
		}
	}
	return t
}

// curve is one run as a line.
type curve struct {
	name   string
	stages []*report.Stage
}

func comparison(reports []*report.Report) []figure {
	var curves []curve
	var all []*report.Stage
	names := namesOf(reports)
	for k, r := range reports {
		c := curve{name: names[k]}
		for i := range r.Measurements {
			c.stages = append(c.stages, byLoad(measuredStages(&r.Measurements[i]))...)
		}
		if len(c.stages) > 0 {
			curves, all = append(curves, c), append(all, c.stages...)
		}
	}
	if len(all) == 0 {
		return nil
	}
	load, _ := loadAxis(all)
	if load.Names != nil {
		load = chart.Axis{Label: "load (streams or requests/s)"}
	}
	at := func(s *report.Stage) (float64, bool) {
		return report.LoadOf(s), shape.AxisOf(s.Planned.Shape).Label != ""
	}
	latency := func(metric, q string) func(*report.Stage) (float64, bool) {
		return func(s *report.Stage) (float64, bool) {
			m, ok := s.Metrics[metric]
			return m.Quantiles[q], ok && m.Has(q)
		}
	}
	flow := func(name string) func(*report.Stage) (float64, bool) {
		return func(s *report.Stage) (float64, bool) { v, ok := s.Rates[name]; return v, ok }
	}
	ms, tokens := chart.Axis{Label: "ms", Auto: true}, chart.Axis{Label: "output tokens/s"}
	out := []figure{
		compare(curves, "TTFT p95 (intended) against load", load, ms, at, latency("ttft_intended", "p95")),
		compare(curves, "Output tokens against load", load, tokens, at, flow("output_token_rate")),
		compare(curves, "Knee: TTFT p95 (intended) against throughput", tokens, ms, flow("output_token_rate"),
			latency("ttft_intended", "p95")),
		compare(curves, "Inter-token latency p99 against load", load, ms, at, latency("itl", "p99")),
		compare(curves, "Whole request p99 (intended) against load", load, ms, at, latency("e2e_intended", "p99")),
		compare(curves, "Request rate against load", load, chart.Axis{Label: "requests/s"}, at, flow("request_rate")),
	}
	var drawn []figure
	for _, f := range out {
		if f.SVG != "" {
			drawn = append(drawn, f)
		}
	}
	return drawn
}

// worstErrors is the highest error rate of each point with any, to stand beside its numbers.
func worstErrors(curves []curve) string {
	var parts []string
	for _, c := range curves {
		var worst *report.Stage
		for _, s := range c.stages {
			if failing(s) && (worst == nil || *s.ErrorRate > *worst.ErrorRate) {
				worst = s
			}
		}
		if worst != nil {
			parts = append(parts, fmt.Sprintf("%s up to %s", c.name, errorShare(worst)))
		}
	}
	if len(parts) == 0 {
		return "Errors: 0 % everywhere."
	}
	return "Errors: " + strings.Join(shortened(parts), ", ") + "."
}

// curvesShown bounds the lines of a chart to what can be told apart.
const curvesShown = 12

// dashes tells lines apart where there are more of them than colours.
func dashes() []string { return []string{"", "7 4", "2 4"} }

func compare(curves []curve, title string, x, y chart.Axis, xOf, yOf func(*report.Stage) (float64, bool)) figure {
	c := chart.Chart{Title: title, X: x, Y: y}
	t := table{Head: heads("Point", "!Stage", x.Label, y.Label, "Errors")}
	for i, one := range curves[:min(len(curves), curvesShown)] {
		s := chart.Series{Name: one.name, Class: fmt.Sprintf("s%d", 1+i%6), Dash: dashes()[i/6%3]}
		for _, stage := range one.stages {
			px, ok := xOf(stage)
			py, known := yOf(stage)
			if !ok || !known {
				continue
			}
			s.Points = append(s.Points, chart.Point{X: px, Y: py, Warn: failing(stage),
				Tip: fmt.Sprintf("%s, %s: %s at %s (errors %s)",
					one.name, stage.Planned.Name, num(py), num(px), errorShare(stage))})
			t.Rows = append(t.Rows, []cell{
				{Text: one.name}, {Text: stage.Planned.Name, Class: "text"}, {Text: num(px)}, {Text: num(py)},
				{Text: errorShare(stage)},
			})
		}
		c.Series = append(c.Series, s)
	}
	caption := worstErrors(curves)
	if len(curves) > curvesShown {
		caption = fmt.Sprintf("The first %d of %d points; the tables have all. ", curvesShown, len(curves)) + caption
	}
	return draw(c, caption, t)
}
