package page

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/report"
)

func runView(r *report.Report) view {
	v := view{
		Title:    titleOf(r),
		Subtitle: fmt.Sprintf("bflow run %s · attempt %d", r.Run.ID, r.Run.Attempt),
		Verdict:  verdictPill(r.Verdict.Verdict),
		Exit:     r.Verdict.ExitCode,
		Reasons:  shortened(r.Verdict.Reasons),
		Facts:    runFacts(r),
		Headline: headlineOf(r),
		Version:  r.Run.BflowVersion,
	}
	for i := range r.Measurements {
		v.Sections = append(v.Sections, measurementSections(r, &r.Measurements[i])...)
	}
	v.Sections = append(v.Sections, serverQueries(r), planSection(r), environmentSection(r))
	v.Sections = keepFilled(v.Sections)
	return v
}

// reasonsShown bounds the list at the top of a page.
const reasonsShown = 12

func shortened(reasons []string) []string {
	if len(reasons) <= reasonsShown {
		return reasons
	}
	return append(slices.Clone(reasons[:reasonsShown]),
		fmt.Sprintf("and %d more, see the tables below", len(reasons)-reasonsShown))
}

// titleOf names the experiment, and the point of it where it has several.
func titleOf(r *report.Report) string {
	if len(r.Plan.Axes) == 0 {
		return r.Plan.Name
	}
	return r.Plan.Experiment + ": " + report.PointName(r)
}

func keepFilled(all []section) []section {
	var out []section
	for _, s := range all {
		if len(s.Tables)+len(s.Figures)+len(s.Facts) > 0 || s.Text != "" || s.Note != "" {
			out = append(out, s)
		}
	}
	return out
}

func runFacts(r *report.Report) []fact {
	d := r.Plan.Deployment
	facts := []fact{
		{"Experiment", r.Plan.Experiment}, {"Model", d.Model.Name}, {"Engine", engineName(r)}, {"GPU", gpuName(r)},
	}
	if !r.Run.Start.IsZero() {
		facts = append(facts, fact{"Started", r.Run.Start.Format("2006-01-02 15:04:05 MST")},
			fact{"Load", r.Run.End.Sub(r.Run.Start).Round(time.Second).String()})
	}
	return append(facts, fact{"Exit code", fmt.Sprint(r.Verdict.ExitCode)}, fact{"Plan", shortHash(r.Plan.Hash)})
}

func engineName(r *report.Report) string {
	name := r.Plan.Deployment.Engine.Kind
	if e := r.Environment.Engine; e != nil {
		name = strings.TrimSpace(e.Kind + " " + e.Version)
	}
	return name
}

func gpuName(r *report.Report) string {
	model, n := report.GPUs(r.Plan)
	switch {
	case n == 0:
		return "none"
	case model == "":
		return fmt.Sprintf("%d", n)
	}
	return fmt.Sprintf("%s × %d", model, n)
}

func shortHash(h string) string { return h[:min(12, len(h))] }

// measurementSections are the parts of the page that each measurement has.
func measurementSections(r *report.Report, m *report.Measurement) []section {
	id, suffix := fmt.Sprintf("m%d", m.Index), ""
	if len(r.Measurements) > 1 {
		suffix = fmt.Sprintf(": %s", m.Name)
	}
	stages := section{ID: id + "-stages", Title: "Stages" + suffix, Note: stagesNote(m)}
	if len(m.Pooled.Stages) > 0 {
		stages.Tables = []table{stageTable(m)}
	}
	out := []section{stages}
	if t := gateTable(m); len(t.Rows) > 0 {
		out = append(out, section{ID: id + "-gates", Title: "Objectives" + suffix, Tables: []table{t},
			Note: "Under each value its 95 % interval. One that lies on one side of the limit decides (✓ or ✕); one " +
				"across it, or with an open end (?) on that side, is inconclusive."})
	}
	if t := validityTable(m).transposed(); len(t.Rows) > 0 {
		out = append(out, section{ID: id + "-validity", Title: "Validity" + suffix, Tables: []table{t},
			Note: "May the numbers be believed? Each check with its value and limit, the worst of the samples."})
	}
	if figures := figuresOf(m); len(figures) > 0 {
		out = append(out, section{ID: id + "-charts", Title: "Charts" + suffix, Figures: figures,
			Note: "A red ring marks a stage with errors. Point at a value to read it."})
	}
	if t := serverTable(m).transposed(); len(t.Rows) > 0 {
		out = append(out, section{ID: id + "-server", Title: "Engine" + suffix, Tables: []table{t},
			Note: "What the engine counted between two readings of its metrics around each stage, warm-up and drain included."})
	}
	return out
}

func stagesNote(m *report.Measurement) string {
	var parts []string
	if m.Error != "" {
		parts = append(parts, m.Error+".")
	}
	if len(m.Pooled.Stages) > 0 {
		parts = append(parts, fmt.Sprintf("%d sample(s), tokens counted by %q, receive times of the %s clock.",
			len(m.Samples), m.TokenCountSource, m.Clock))
	}
	for _, note := range m.Notes {
		parts = append(parts, strings.TrimSuffix(note, ".")+".")
	}
	return strings.Join(parts, " ")
}

// serverQueries are the answers of Prometheus, and below them what it did not answer, by reason.
func serverQueries(r *report.Report) section {
	s := section{ID: "prometheus", Title: "Prometheus"}
	t := table{Head: heads("Metric", "Series", "Points", "Mean", "Max", "!Query")}
	absent := map[string][]string{}
	for _, q := range r.Server.Queries {
		if q.Mean == nil || q.Max == nil {
			absent[q.Error] = append(absent[q.Error], q.Name)
			continue
		}
		t.Rows = append(t.Rows,
			[]cell{{Text: q.Name, Sub: q.Error}, {Text: fmt.Sprint(q.Series)}, {Text: fmt.Sprint(q.Points)},
				{Text: num(*q.Mean)}, {Text: num(*q.Max)}, {Text: q.Query, Class: "wrap"}})
	}
	if len(t.Rows) > 0 {
		s.Tables = append(s.Tables, t)
	}
	if len(absent) > 0 {
		s.Tables = append(s.Tables, absentTable(absent))
	}
	return s
}

func absentTable(absent map[string][]string) table {
	t := table{Head: heads("Absent", "!Metrics", "!Because")}
	for _, reason := range sorted(absent) {
		names := absent[reason]
		t.Rows = append(t.Rows, []cell{
			{Text: fmt.Sprint(len(names))}, {Text: strings.Join(names, ", "), Class: "wrap"},
			{Text: reason, Class: "wrap"},
		})
	}
	return t
}

func planSection(r *report.Report) section {
	s := section{ID: "plan", Title: "Plan", TextTitle: "The whole plan as JSON"}
	s.Facts = []fact{{"Point", r.Plan.Name}, {"Hash", r.Plan.Hash},
		{"Platform", r.Plan.Deployment.Platform + " " + r.Plan.Deployment.Mode},
		{"Target", r.Target()}}
	for _, a := range r.Plan.Axes {
		s.Facts = append(s.Facts, fact{a.Path, fmt.Sprint(a.Value)})
	}
	for _, m := range r.Plan.Measurements {
		s.Facts = append(s.Facts, fact{"Measurement " + m.Name, measurementWords(m)})
	}
	if text, err := json.MarshalIndent(r.Plan, "", "  "); err == nil {
		s.Text = string(text)
	}
	return s
}

func environmentSection(r *report.Report) section {
	s := section{ID: "environment", Title: "Environment"}
	if e := r.Environment.Engine; e != nil {
		s.Facts = append(s.Facts, fact{"Engine", engineName(r)}, fact{"Model", e.Model}, fact{
			"Replicas", fmt.Sprint(e.Replicas),
		})
		if e.StartupS > 0 {
			s.Facts = append(s.Facts, fact{"Ready after", fmt.Sprintf("%.1f s", e.StartupS)})
		}
	}
	if h := r.Environment.Load; h != nil {
		s.Facts = append(s.Facts, fact{"Load generator on", strings.TrimSpace(h.CPUModel + ", " + h.Arch)},
			fact{"CPUs", fmt.Sprint(h.CPUs)},
			fact{"Memory", fmt.Sprintf("%.1f GiB", float64(h.MemoryBytes)/(1<<30))},
			fact{"Kernel", h.OS + " " + h.Kernel}, fact{"Built with", h.GoVersion})
	}
	if r.Environment.Colocated {
		s.Facts = append(s.Facts, fact{"Node", "shared by engine and load"})
	}
	s.Facts = append(s.Facts, fact{"bflow", r.Run.BflowVersion})
	if r.Run.Endpoint != "" {
		s.Facts = append(s.Facts, fact{"Endpoint", r.Run.Endpoint})
	}
	return s
}
