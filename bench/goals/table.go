package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// Verdicts of a line.
const (
	met        = "met"
	metByRatio = "met by ratio"
	metAtLimit = "met at the engine's limit"
	missed     = "MISSED"
	void       = "void"
	absent     = "not measured"
)

// line is a figure with what its repeats found.
type line struct {
	Goal      string   `json:"goal"`
	Name      string   `json:"name"`
	Unit      string   `json:"unit,omitempty"`
	Bound     string   `json:"bound"`
	Target    float64  `json:"target"`
	Median    *float64 `json:"median,omitempty"`
	Worst     *float64 `json:"worst,omitempty"`
	Floor     *float64 `json:"floor,omitempty"`
	Ratio     *float64 `json:"ratio,omitempty"`
	Repeats   int      `json:"repeats"` // that are not void
	Verdict   string   `json:"verdict"`
	Disturbed bool     `json:"disturbed,omitempty"`
	Notes     []string `json:"notes,omitempty"`
}

// judge makes the line of f from what its repeats found.
func judge(f figure, values []value) line {
	l := line{Goal: f.goal, Name: f.name, Unit: f.unit, Target: f.target, Bound: "<=", Verdict: absent}
	if f.bound == atLeast {
		l.Bound = ">="
	}
	var good, voided []value
	for _, v := range values {
		if v.absent != "" {
			l.note(v.absent)
			continue
		}
		if v.void != "" {
			l.note(v.void)
			voided = append(voided, v)
			continue
		}
		good = append(good, v)
		l.Disturbed = l.Disturbed || v.disturbed
		l.note(v.notes...)
	}
	switch l.Repeats = len(good); {
	case l.Repeats > 0:
		l.fill(f, good)
	case len(voided) > 0:
		// What was seen is shown all the same: a reader learns from it, if only how far off the engine was.
		l.fill(f, voided)
		l.Verdict = void + ", else " + l.Verdict
	}
	return l
}

// note adds sentences, each once.
func (l *line) note(texts ...string) {
	for _, text := range texts {
		if !slices.Contains(l.Notes, text) {
			l.Notes = append(l.Notes, text)
		}
	}
}

// fill sets the numbers and the verdict, which goes by the medians.
func (l *line) fill(f figure, good []value) {
	var vs, floors, ratios []float64
	limited := true
	for _, v := range good {
		vs = append(vs, v.v)
		limited = limited && v.limited
		if v.floor > 0 {
			floors, ratios = append(floors, v.floor), append(ratios, v.v/v.floor)
		}
	}
	median, worst := middle(vs), slices.Max(vs)
	if f.bound == atLeast {
		worst = slices.Min(vs)
	}
	l.Median, l.Worst = &median, &worst
	if len(ratios) > 0 {
		floor, ratio := middle(floors), middle(ratios)
		l.Floor, l.Ratio = &floor, &ratio
	}
	switch {
	case f.holds(median):
		l.Verdict = met
	case f.ratio > 0 && l.Ratio != nil && *l.Ratio >= f.ratio:
		l.Verdict = metByRatio
	case limited:
		l.Verdict = metAtLimit
	default:
		l.Verdict = missed
	}
}

func (f figure) holds(v float64) bool {
	if f.bound == atLeast {
		return v >= f.target
	}
	return v <= f.target
}

// middle is the median; of an even number the worse for nobody, the mean of the two.
func middle(xs []float64) float64 {
	s := slices.Sorted(slices.Values(xs))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}

// print writes the table and, below it, what is to be said about its lines.
func print(w io.Writer, lines []line) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "GOAL\tFIGURE\tTARGET\tMEDIAN\tWORST\tRATIO TO FLOOR\tVERDICT")
	for _, l := range lines {
		verdict := l.Verdict
		if l.Disturbed {
			verdict += ", disturbed"
		}
		fmt.Fprintf(t, "%s\t%s\t%s %s\t%s\t%s\t%s\t%s\n", l.Goal, l.Name, l.Bound, amount(&l.Target, l.Unit),
			amount(l.Median, l.Unit), amount(l.Worst, l.Unit), amount(l.Ratio, ""), verdict)
	}
	t.Flush()
	for _, l := range lines {
		for _, note := range l.Notes {
			fmt.Fprintf(w, "%s, %s: %s\n", l.Goal, l.Name, note)
		}
	}
}

// amount is a number with three digits or more and its unit.
func amount(v *float64, unit string) string {
	if v == nil {
		return "-"
	}
	digits := 0
	if a := math.Abs(*v); a > 0 && a < 100 {
		digits = max(0, 2-int(math.Floor(math.Log10(a))))
	}
	text := fmt.Sprintf("%.*f", min(digits, 5), *v)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return strings.TrimSpace(text + " " + unit)
}
