package page

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/verdict"
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
	return []cell{{Text: "Stage"}, {Text: "Verdict", Class: "text"}, {Text: "Load"}, {Text: "Requests"},
		{Text: "Errors"}, {Text: "Req/s"}, {Text: "Output tok/s"},
		{Text: "TTFT p50", Sub: "intended, ms"}, {Text: "TTFT p95", Sub: "intended, ms"},
		{Text: "TTFT p99", Sub: "intended, ms"},
		{Text: "ITL p50", Sub: "ms"}, {Text: "ITL p99", Sub: "ms"}, {Text: "E2E p50", Sub: "intended, ms"},
		{Text: "E2E p99", Sub: "intended, ms"},
		{Text: "Goodput"}}
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
		c := cell{Text: quantile(s, metric, q)}
		if _, ok := s.Metrics[metric+"_intended"]; ok {
			c.Sub = quantile(s, metric+"_intended", q)
		}
		return c
	}
	errors := cell{Text: errorShare(s), Sub: errorDetail(s)}
	if failing(s) {
		errors.Class = "bad"
	}
	goodputCell := cell{Text: goodput(s)}
	if s.Goodput != nil {
		goodputCell.Sub = num(s.Goodput.RequestsPerS) + "/s"
	}
	return []cell{{Text: s.Planned.Name}, verdictCell(s), {Text: loadWords(s)}, {Text: requests(s)}, errors,
		{Text: rate(s, "request_rate"), Sub: offered(s)}, {Text: rate(s, "output_token_rate")},
		both("ttft", "p50"), both("ttft", "p95"), both("ttft", "p99"), {Text: quantile(s, "itl", "p50")}, {
			Text: quantile(s, "itl", "p99"),
		},
		both("e2e", "p50"), both("e2e", "p99"), goodputCell}
}

// requests counts the measured ones, of a stage that is not measured all.
func requests(s *report.Stage) string {
	if !s.Planned.Measure {
		return fmt.Sprint(s.Counts.All)
	}
	return fmt.Sprint(s.Counts.Total)
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

// gateTable has a row per objective and a column per stage.
func gateTable(m *report.Measurement) table {
	t := table{Head: heads("Objective")}
	var errors []cell
	index := map[string]int{}
	for column, s := range measuredStages(m) {
		t.Head = append(t.Head, cell{Text: s.Planned.Name, Sub: loadWords(s)})
		errors = append(errors, cell{Text: errorShare(s)})
		for _, g := range s.Gates {
			name := verdict.Describe(g)
			if _, known := index[name]; !known {
				index[name] = len(t.Rows)
				t.Rows = append(t.Rows, []cell{gateHead(g)})
			}
			row := &t.Rows[index[name]]
			for len(*row) <= column {
				*row = append(*row, cell{Text: absent})
			}
			*row = append(*row, gateCell(g))
		}
	}
	if len(t.Rows) == 0 {
		return t
	}
	for i := range t.Rows {
		for len(t.Rows[i]) < len(t.Head) {
			t.Rows[i] = append(t.Rows[i], cell{Text: absent})
		}
	}
	t.Rows = append(t.Rows, append([]cell{{Text: "Errors"}}, errors...))
	return t
}

func gateHead(g report.Gate) cell {
	c := cell{Text: verdict.Describe(g)}
	if g.Default {
		c.Sub = "where no objective for errors is set"
	}
	return c
}

func gateCell(g report.Gate) cell {
	p := verdictPill(g.Verdict)
	c := cell{Text: p.Sign + " not measured", Class: cellClass(g.Verdict), Tip: fmt.Sprintf("%s, n = %d", g.Verdict, g.N)}
	if g.Value != nil {
		c.Text, c.Sub = p.Sign+" "+verdict.Quantity(*g.Value, g.Unit), interval(g)
	}
	return c
}

func cellClass(word string) string {
	return map[string]string{verdict.Pass: "ok", verdict.Fail: "no", verdict.Inconclusive: "hint"}[word]
}

func interval(g report.Gate) string {
	end := func(v *float64) string {
		if v == nil {
			return "?"
		}
		if g.Unit == "share" {
			return num(*v * 100)
		}
		return num(*v)
	}
	if g.Low == nil && g.High == nil {
		return ""
	}
	return end(g.Low) + " to " + end(g.High)
}

// transposed swaps rows and columns: few stages stand side by side, and many numbers below each other.
func (t table) transposed() table {
	if len(t.Rows) == 0 {
		return table{}
	}
	out := table{Title: t.Title, Head: []cell{{Text: t.Head[0].Text}}}
	for _, row := range t.Rows {
		out.Head = append(out.Head, row[0])
	}
	for i := 1; i < len(t.Head); i++ {
		line := []cell{t.Head[i]}
		for _, row := range t.Rows {
			line = append(line, row[i])
		}
		out.Rows = append(out.Rows, line)
	}
	return out
}

// validityTable has a row per stage and a column per check.
func validityTable(m *report.Measurement) table {
	var names []string
	limits := map[string][]string{}
	for _, s := range measuredStages(m) {
		for _, c := range s.Checks {
			if !slices.Contains(names, c.Name) {
				names = append(names, c.Name)
			}
			if limit := num(c.Limit); !slices.Contains(limits[c.Name], limit) {
				limits[c.Name] = append(limits[c.Name], limit)
			}
		}
	}
	t := table{Head: heads("Check", "Verdict")}
	for _, name := range names {
		t.Head = append(t.Head, cell{
			Text: strings.ReplaceAll(name, "_", " "), Sub: "limit " + strings.Join(limits[name], ", "),
		})
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
	valid := cell{Text: "✓ valid", Class: "ok"}
	switch {
	case !s.Valid:
		valid = cell{Text: "✕ " + strings.Join(s.InvalidReasons, ", "), Class: "no"}
	case slices.ContainsFunc(s.Checks, func(c report.Check) bool { return c.Reason == report.NotChecked }):
		valid = cell{Text: "? not checked", Class: "hint"}
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
	t := table{Head: heads("Number", "Errors")}
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
