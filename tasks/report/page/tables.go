package page

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/verdict"
)

// heads makes a head row; a leading "!" marks a column of text.
func heads(names ...string) []cell {
	out := make([]cell, len(names))
	for i, name := range names {
		if text, ok := strings.CutPrefix(name, "!"); ok {
			out[i] = cell{Text: text, Class: "text"}
		} else {
			out[i] = cell{Text: name}
		}
	}
	return out
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func stageHead() []cell {
	return []cell{{Text: "Stage"}, {Text: "Load"}, {Text: "Requests"}, {Text: "Errors"}, {Text: "Requests/s"}, {Text: "Output tok/s"},
		{Text: "TTFT p50", Sub: "intended, ms"}, {Text: "TTFT p95", Sub: "intended, ms"}, {Text: "TTFT p99", Sub: "intended, ms"},
		{Text: "ITL p50", Sub: "ms"}, {Text: "ITL p99", Sub: "ms"}, {Text: "E2E p50", Sub: "intended, ms"}, {Text: "E2E p99", Sub: "intended, ms"},
		{Text: "Goodput"}, {Text: "Verdict", Class: "text"}}
}

func stageTable(m *report.Measurement) table {
	t := table{Head: stageHead()}
	for i := range m.Pooled.Stages {
		t.Rows = append(t.Rows, stageRow(&m.Pooled.Stages[i]))
	}
	return t
}

func stageRow(s *report.Stage) []cell {
	both := func(metric, q string) cell {
		return cell{Text: quantile(s, metric, q), Sub: quantile(s, metric+"_intended", q)}
	}
	errors := cell{Text: errorShare(s), Sub: errorDetail(s)}
	if failing(s) {
		errors.Class = "bad"
	}
	goodputCell := cell{Text: goodput(s)}
	if s.Goodput != nil {
		goodputCell.Sub = num(s.Goodput.RequestsPerS) + "/s"
	}
	return []cell{{Text: s.Planned.Name}, {Text: loadWords(s)}, {Text: fmt.Sprint(s.Counts.Total)}, errors,
		{Text: rate(s, "request_rate"), Sub: offered(s)}, {Text: rate(s, "output_token_rate")},
		both("ttft", "p50"), both("ttft", "p95"), both("ttft", "p99"), {Text: quantile(s, "itl", "p50")}, {Text: quantile(s, "itl", "p99")},
		both("e2e", "p50"), both("e2e", "p99"), goodputCell, verdictCell(s)}
}

func offered(s *report.Stage) string {
	if v, ok := s.Rates["offered_rate"]; ok && v > 0 {
		return "of " + num(v)
	}
	return ""
}

func verdictCell(s *report.Stage) cell {
	switch {
	case verdict.Skipped(s):
		return cell{Text: "skipped", Class: "text"}
	case !s.Planned.Measure:
		return cell{Text: "not measured", Class: "text"}
	}
	p := verdictPill(s.Verdict)
	return cell{Pill: &p, Class: "text", Sub: strings.Join(s.InvalidReasons, ", ")}
}

func gateTable(m *report.Measurement) table {
	t := table{Head: heads("Objective", "!Stage", "Measured", "95 % interval", "n", "Errors", "!Verdict")}
	for _, s := range measuredStages(m) {
		for _, g := range s.Gates {
			p := verdictPill(g.Verdict)
			row := []cell{{Text: gateWords(g)}, {Text: s.Planned.Name, Class: "text"}, {Text: absent}, {Text: interval(g)},
				{Text: fmt.Sprint(g.N)}, {Text: errorShare(s)}, {Pill: &p, Class: "text"}}
			if g.Value != nil {
				row[2].Text = verdict.Quantity(*g.Value, g.Unit)
			}
			if g.Default {
				row[0].Sub = "the rule where no objective for errors is set"
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

func interval(g report.Gate) string {
	end := func(v *float64) string {
		if v == nil {
			return "?"
		}
		return verdict.Quantity(*v, g.Unit)
	}
	if g.Low == nil && g.High == nil {
		return absent
	}
	return end(g.Low) + " to " + end(g.High)
}

// validityTable has a row per stage and a column per check.
func validityTable(m *report.Measurement) table {
	var names []string
	limits := map[string]float64{}
	for _, s := range measuredStages(m) {
		for _, c := range s.Checks {
			if !slices.Contains(names, c.Name) {
				names = append(names, c.Name)
				limits[c.Name] = c.Limit
			}
		}
	}
	t := table{Head: heads("Stage", "!Valid")}
	for _, name := range names {
		t.Head = append(t.Head, cell{Text: strings.ReplaceAll(name, "_", " "), Sub: "limit " + num(limits[name])})
	}
	for _, s := range measuredStages(m) {
		t.Rows = append(t.Rows, validityRow(s, names))
	}
	if len(names) == 0 {
		t.Rows = nil
	}
	return t
}

func validityRow(s *report.Stage, names []string) []cell {
	valid := cell{Text: "✓ valid", Class: "text ok"}
	if !s.Valid {
		valid = cell{Text: "✕ " + strings.Join(s.InvalidReasons, ", "), Class: "text no"}
	}
	row := []cell{{Text: s.Planned.Name}, valid}
	for _, name := range names {
		i := slices.IndexFunc(s.Checks, func(c report.Check) bool { return c.Name == name })
		if i < 0 {
			row = append(row, cell{Text: absent})
			continue
		}
		row = append(row, checkCell(s.Checks[i]))
	}
	return row
}

func checkCell(c report.Check) cell {
	out := cell{Text: "✓ " + num(c.Value), Class: "ok", Tip: c.Text}
	switch {
	case !c.OK && c.Note:
		out.Text, out.Class, out.Sub = "! "+num(c.Value), "hint", c.Reason
	case !c.OK:
		out.Text, out.Class, out.Sub = "✕ "+num(c.Value), "no", c.Reason
	}
	return out
}

// serverTable has a row per stage and a column per thing the engine counted.
func serverTable(m *report.Measurement) table {
	counters, histograms := map[string]bool{}, map[string]bool{}
	for _, s := range measuredStages(m) {
		if s.Server != nil {
			for id := range s.Server.Counters {
				counters[id] = true
			}
			for id := range s.Server.Histograms {
				histograms[id] = true
			}
		}
	}
	t := table{Head: heads("Stage", "Errors")}
	for _, id := range sorted(counters) {
		t.Head = append(t.Head, cell{Text: strings.ReplaceAll(id, "_", " ")})
	}
	for _, id := range sorted(histograms) {
		t.Head = append(t.Head, cell{Text: strings.ReplaceAll(id, "_", " "), Sub: "mean, p95 in ms"})
	}
	for _, s := range measuredStages(m) {
		if s.Server != nil {
			t.Rows = append(t.Rows, serverRow(s, sorted(counters), sorted(histograms)))
		}
	}
	return t
}

func serverRow(s *report.Stage, counters, histograms []string) []cell {
	row := []cell{{Text: s.Planned.Name, Sub: s.Server.Error}, {Text: errorShare(s)}}
	for _, id := range counters {
		c := cell{Text: absent}
		if v, ok := s.Server.Counters[id]; ok {
			c.Text = num(v)
		}
		row = append(row, c)
	}
	for _, id := range histograms {
		c := cell{Text: absent}
		if h, ok := s.Server.Histograms[id]; ok {
			c.Text = num(h.MeanMS)
			if p95, ok := h.Quantiles["p95"]; ok {
				c.Sub = num(p95)
			}
		}
		row = append(row, c)
	}
	return row
}
