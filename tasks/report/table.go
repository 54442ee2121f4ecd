package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Table writes the headline numbers of every measured stage as plain text of at most 120 columns. A quantile with too
// few values beyond it is marked with ~. Latencies are in ms, from the send.
func Table(w io.Writer, reports ...*Report) error {
	t := newText(w)
	t.row("point", "stage", "req/s", "tok/s", "TTFT p50", "p95", "p99", "ITL p50", "p99", "E2E p50", "p99", "errors", "goodput", "verdict")
	for _, r := range reports {
		for i := range r.Measurements {
			for j := range r.Measurements[i].Pooled.Stages {
				if s := &r.Measurements[i].Pooled.Stages[j]; s.Planned.Measure {
					t.row(append([]string{PointName(r)}, tableRow(s)...)...)
				}
			}
		}
		if len(r.Measurements) == 0 || Headline(r) == nil {
			t.row(PointName(r), "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", r.Verdict.Verdict)
		}
	}
	t.flush()
	for _, r := range reports {
		t.line("verdict of %s: %s (exit code %d)", r.Run.ID, r.Verdict.Verdict, r.Verdict.ExitCode)
		for _, reason := range r.Verdict.Reasons {
			t.line("  %s", reason)
		}
		for _, note := range answers(r) {
			t.line("  %s", note)
		}
	}
	t.line("latencies are in ms, from the send")
	if t.marked[fewMark] {
		t.line(fewMark + " fewer than ten values lie beyond this quantile")
	}
	if t.marked[lateMark] {
		t.line(lateMark + " load-gen was late: this number is wrong by more than 1 %%")
	}
	return t.err
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

// short prints a number with three or more digits, without an exponent, in at most five columns below a thousand million.
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

// text lays out columns, the first two to the left, the others to the right.
type text struct {
	w      io.Writer
	rows   [][]string
	marked map[string]bool // marks that the table holds
	err    error
}

func newText(w io.Writer) *text { return &text{w: w, marked: map[string]bool{}} }

func (t *text) row(cells ...string) { t.rows = append(t.rows, cells) }

// columns is the width of the table.
const columns = 120

// measure returns the width of every column. Those of names share what the numbers leave, the stage first.
func (t *text) measure() []int {
	var widths []int
	for _, row := range t.rows {
		widths = append(widths, make([]int, max(0, len(row)-len(widths)))...)
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
			if i >= 2 { // the others are names
				t.marked[fewMark] = t.marked[fewMark] || strings.Contains(cell, fewMark)
				t.marked[lateMark] = t.marked[lateMark] || strings.Contains(cell, lateMark)
			}
		}
	}
	room := columns - len(widths)
	for _, w := range widths[2:] {
		room -= w
	}
	widths[1] = min(widths[1], max(room/2, room-widths[0]))
	widths[0] = min(widths[0], room-widths[1])
	return widths
}

func (t *text) flush() {
	widths := t.measure()
	for _, row := range t.rows {
		var b strings.Builder
		for i, cell := range row {
			cell = clip(cell, widths[i])
			gap := strings.Repeat(" ", widths[i]-len([]rune(cell)))
			if i < 2 || i == len(row)-1 {
				b.WriteString(cell + gap + " ")
			} else {
				b.WriteString(gap + cell + " ")
			}
		}
		t.line("%s", strings.TrimRight(b.String(), " "))
	}
}

// clip shortens a name in its middle: what tells it from its like is mostly at the end.
func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	head := (n - 1) / 2
	return string(r[:head]) + "." + string(r[len(r)-(n-1-head):])
}

func (t *text) line(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format+"\n", args...)
	}
}
