package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"bflow.dev/bflow/internal/screen"
)

// paper is the width of a table that no terminal shows, in columns.
const paper = 120

// Table writes the headline numbers of every measured stage in as many columns as the screen has, 120
// without one.
// A quantile with too few values beyond it is marked with ~. Latencies are in ms, from the send.
func Table(w io.Writer, on screen.Screen, reports ...*Report) error {
	t := headlines()
	for _, r := range reports {
		for i := range r.Measurements {
			for j := range r.Measurements[i].Pooled.Stages {
				if s := &r.Measurements[i].Pooled.Stages[j]; s.Planned.Measure {
					t.add(r, tableRow(s)...)
				}
			}
		}
		if len(r.Measurements) == 0 || Headline(r) == nil {
			t.add(r, "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", r.Verdict.Verdict)
		}
	}
	if on.Width == 0 {
		on.Width = paper
	}
	left, err := t.Write(w, on)
	if err != nil {
		return err
	}
	out := lines{w: w}
	for _, r := range reports {
		out.line("verdict of %s: %s (exit code %d)", r.Run.ID, on.Paint(r.Verdict.Verdict), r.Verdict.ExitCode)
		for _, reason := range r.Verdict.Reasons {
			out.line("  %s", reason)
		}
		for _, note := range answers(r) {
			if !slices.ContainsFunc(r.Verdict.Reasons, func(reason string) bool { return strings.HasSuffix(reason, note) }) {
				out.line("  %s", note)
			}
		}
	}
	out.line("latencies are in ms, from the send")
	if t.marked[fewMark] {
		out.line(fewMark + " fewer than ten values lie beyond this quantile")
	}
	if t.marked[lateMark] {
		out.line(lateMark + " load-gen was late: this number is wrong by more than 1 %%")
	}
	if len(left) > 0 {
		out.line("%d columns have no room here; the report has them", len(left))
	}
	return out.err
}

// numbers are the columns of Table, those that a narrow screen can do without with a rank.
type numbers struct {
	screen.Table
	marked map[string]bool // marks that the table holds
}

func headlines() *numbers {
	number := func(head string, rank int) screen.Column { return screen.Column{Head: head, Right: true, Rank: rank} }
	return &numbers{marked: map[string]bool{}, Table: screen.Table{Gap: 1, Columns: []screen.Column{
		{Head: "point", Cut: screen.Middle}, {Head: "stage", Cut: screen.Middle}, number("req/s", 0), number("tok/s", 1),
		number("TTFT p50", 0), number("p95", 4), number("p99", 2), number("ITL p50", 1), number("p99", 6),
		number("E2E p50", 3), number("p99", 5),
		number("errors", 0), number("goodput", 2), {Head: "verdict", Paint: true}}}}
}

func (t *numbers) add(r *Report, cells ...string) {
	for _, cell := range cells[1:] { // the first is a name
		for _, mark := range []string{fewMark, lateMark} {
			t.marked[mark] = t.marked[mark] || strings.Contains(cell, mark)
		}
	}
	t.Row(append([]string{PointName(r)}, cells...)...)
}

// lines writes lines until one cannot be written.
type lines struct {
	w   io.Writer
	err error
}

func (l *lines) line(format string, args ...any) {
	if l.err == nil {
		_, l.err = fmt.Fprintf(l.w, format+"\n", args...)
	}
}

// answers are the notes that no number of the table says: what a search found, and why a stage was not carried out.
func answers(r *Report) []string {
	var out []string
	for i := range r.Measurements {
		for _, note := range r.Measurements[i].Notes {
			if strings.HasPrefix(note, "search: ") || strings.Contains(note, " skipped: ") {
				out = append(out, note)
			}
		}
	}
	return out
}

// PointName is what tells a point from its siblings: its axis values, else the name of its plan.
func PointName(r *Report) string {
	if r.Plan == nil {
		return r.Run.ID
	}
	var parts []string
	for _, a := range r.Plan.Axes {
		parts = append(parts, fmt.Sprintf("%s=%v", lastWord(a.Path), a.Value))
	}
	if r.Plan.Repeat > 0 {
		parts = append(parts, fmt.Sprintf("r%d", r.Plan.Repeat))
	}
	if len(parts) == 0 {
		return r.Plan.Name
	}
	return strings.Join(parts, " ")
}

func lastWord(path string) string { return path[strings.LastIndexAny(path, ".")+1:] }

func tableRow(s *Stage) []string {
	cells := []string{s.Planned.Name, rate(s, "request_rate"), rate(s, "output_token_rate")}
	for _, n := range Headlines() {
		cells = append(cells, quantile(s, n))
	}
	return append(cells, percent(s.ErrorRate), attainment(s), s.Verdict)
}

func rate(s *Stage, name string) string {
	if v, ok := s.Rates[name]; ok && s.WindowS > 0 {
		return short(v)
	}
	return "-"
}

func quantile(s *Stage, n Number) string {
	m, ok := s.Metrics[n.Metric]
	if !ok || !m.Has(n.Quantile) {
		return "-"
	}
	text := short(m.Quantiles[n.Quantile])
	if _, late := s.Shifted(n); late {
		text += lateMark
	}
	if m.IsLowN(n.Quantile) {
		text += fewMark
	}
	return text
}

// Marks behind numbers that must not be relied on.
const (
	fewMark  = "~"
	lateMark = "*"
)

// IsLowN says whether quantile q has too few values to be relied on.
func (m Metric) IsLowN(q string) bool {
	return slices.Contains(m.LowN, q)
}

func percent(share *float64) string {
	if share == nil {
		return "-"
	}
	return short(*share*100) + "%"
}

func attainment(s *Stage) string {
	if s.Goodput == nil {
		return "-"
	}
	return percent(&s.Goodput.Attainment)
}

// short prints a number with three or more digits, without an exponent, in at most five columns below a thousand
// million.
func short(v float64) string {
	switch a := max(v, -v); {
	case a >= 1e6:
		return fmt.Sprintf("%.2fM", v/1e6)
	case a >= 1e5:
		return fmt.Sprintf("%.0fk", v/1e3)
	case a >= 1e4:
		return fmt.Sprintf("%.1fk", v/1e3)
	case a == 0:
		return "0"
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	case a >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}
