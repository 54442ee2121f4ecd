package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"bflow.dev/bflow/report"
)

// Sustained says in one sentence up to which load each of several runs holds the objectives of their experiment, and by
// how much; "" where it sets none, or nothing was measured under a load that has a number.
func Sustained(reports []*report.Report) string {
	var parts []string
	named := ""
	for _, r := range reports {
		held, missed := reach(r)
		var text string
		switch {
		case held == nil && missed == nil:
			continue
		case held == nil:
			text = fmt.Sprintf("misses %s from %s on (%s)", objective(missed.gate, &named), missed.load, margin(missed.gate))
		case missed == nil:
			text = fmt.Sprintf("holds %s up to %s (%s)", objective(held.gate, &named), held.load, margin(held.gate))
		default:
			text = fmt.Sprintf("holds %s up to %s (%s)", objective(held.gate, &named), held.load, margin(held.gate))
			text += fmt.Sprintf(" and misses %s at %s (%s)", objective(missed.gate, &named), missed.load, margin(missed.gate))
		}
		parts = append(parts, report.PointName(r)+" "+text)
	}
	return strings.Join(parts, "; ")
}

// tested is an objective at a load.
type tested struct {
	load string
	gate report.Gate
}

// reach returns the highest load at which a run holds its objectives, below any at which it does not, with the
// objective that is nearest to its limit, and the lowest load at which it misses one; nil where there is none. What is
// not valid, or not decided, says nothing.
func reach(r *report.Report) (held, missed *tested) {
	var stages []*report.Stage
	for i := range r.Measurements {
		for j := range r.Measurements[i].Pooled.Stages {
			if s := &r.Measurements[i].Pooled.Stages[j]; s.Planned.Measure && s.Valid && !Skipped(s) && !s.Explored &&
				report.LoadOf(s) > 0 {
				stages = append(stages, s)
			}
		}
	}
	slices.SortStableFunc(stages, func(a, b *report.Stage) int { return cmp.Compare(report.LoadOf(a), report.LoadOf(b)) })
	for _, s := range stages {
		gates := slices.DeleteFunc(slices.Clone(s.Gates), func(g report.Gate) bool { return g.Default || g.Value == nil })
		if len(gates) == 0 {
			continue
		}
		nearest := slices.MaxFunc(gates, func(a, b report.Gate) int { return cmp.Compare(over(a), over(b)) })
		switch {
		case slices.ContainsFunc(gates, func(g report.Gate) bool { return g.Verdict == Fail }):
			return held, &tested{loadName(s), nearest}
		case !slices.ContainsFunc(gates, func(g report.Gate) bool { return g.Verdict != Pass }):
			held = &tested{loadName(s), nearest}
		}
	}
	return held, nil
}

// over is by what share of its limit a value is on the wrong side, negative on the right one.
func over(g report.Gate) float64 {
	d := (*g.Value - g.Limit) / math.Max(math.Abs(g.Limit), 1e-9)
	if g.AtLeast {
		return -d
	}
	return d
}

func loadName(s *report.Stage) string {
	if s.Rate > 0 || s.Planned.Rate > 0 {
		return fmt.Sprintf("%.4g/s", report.LoadOf(s))
	}
	return fmt.Sprintf("%d streams", s.Planned.Concurrency)
}

// objective names what a gate asks for, and the second time in a row only that it is the same.
func objective(g report.Gate, before *string) string {
	if text := Describe(g); text != *before {
		*before = text
		return text
	}
	return "it"
}

// margin is how far a value is from its limit.
func margin(g report.Gate) string {
	side := "below"
	if *g.Value > g.Limit {
		side = "above"
	}
	by := math.Abs(over(g))
	if side == "above" && by >= 1 {
		return fmt.Sprintf("%s, %.2g times the limit", Quantity(*g.Value, g.Unit), by+1)
	}
	return fmt.Sprintf("%s, %.2g %% %s the limit", Quantity(*g.Value, g.Unit), 100*by, side)
}
