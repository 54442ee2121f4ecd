package record

import (
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
)

// goodness judges requests by their objectives. Objectives of waiting count from the intended send.
type goodness struct {
	objectives []objective
	res        report.GoodputResult
	tokens     int64
}

type objective struct {
	name  string
	limit float64 // ms
	value func(o *Outcome) (float64, bool)
}

func newGoodness(g runplan.Goodput) *goodness {
	all := []objective{
		{"ttft", ms(int64(g.TTFT)), func(o *Outcome) (float64, bool) { return ms(o.First - o.Intended), o.First >= 0 }},
		{"tpot", ms(int64(g.TPOT)), func(o *Outcome) (float64, bool) {
			return ms(o.Last-o.First) / float64(max(1, o.Out-1)), o.First >= 0 && o.Out >= 2
		}},
		{"e2e", ms(int64(g.E2E)), func(o *Outcome) (float64, bool) { return ms(o.End - o.Intended), o.End >= 0 }},
	}
	out := &goodness{
		res: report.GoodputResult{Met: map[string]int{}, Missed: map[string]int{}, Undetermined: map[string]int{}},
	}
	for _, o := range all {
		if o.limit > 0 {
			out.objectives = append(out.objectives, o)
			out.res.Met[o.name] = 0
		}
	}
	return out
}

// judge takes in a measured request and marks its row. Failed and timed-out requests are bad; those cut off by the end
// of the stage count nowhere.
func (g *goodness) judge(o *Outcome, row *report.Row) {
	good := o.Status == report.StatusOK
	if !good && o.Status != report.StatusFailed && o.Status != report.StatusTimeout && o.Status != report.StatusEmpty {
		return
	}
	g.res.Of++
	if good {
		for _, objective := range g.objectives {
			x, ok := objective.value(o)
			switch {
			case !ok:
				g.res.Undetermined[objective.name]++
			case x > objective.limit:
				g.res.Missed[objective.name]++
				row.SLOMissed = append(row.SLOMissed, objective.name)
				good = false
			default:
				g.res.Met[objective.name]++
			}
		}
	}
	row.SLOOK = &good
	if good {
		g.res.Good++
		g.tokens += max(0, o.Out)
	}
}

func (g *goodness) result(seconds float64) *report.GoodputResult {
	if g.res.Of > 0 {
		g.res.Attainment = float64(g.res.Good) / float64(g.res.Of)
	}
	if seconds > 0 {
		g.res.RequestsPerS = float64(g.res.Good) / seconds
		g.res.TokensPerS = float64(g.tokens) / seconds
	}
	return &g.res
}
