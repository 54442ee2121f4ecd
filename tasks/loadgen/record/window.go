package record

import (
	"math"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
)

// span is the measured part of a stage: stamps in [start, end), and by trims that count requests also a range of
// places in the order of intended sends.
type span struct {
	start, end int64
	from, to   int // places; to is exclusive
}

func (w span) holds(at int64) bool { return at >= w.start && at < w.end }

func (w span) seconds() float64 { return float64(w.end-w.start) / 1e9 }

// windowOf cuts the trims off a stage that ran from start to end; intended are the sends in order.
func windowOf(plan runplan.Stage, start, end int64, intended []entry) span {
	w := span{start: start, end: end, to: len(intended)}
	t, n := trim(plan, plan.SkipFirst)
	w.start += t
	if n > 0 {
		w.from = min(n, len(intended))
		w.start = at(intended, w.from, end)
	}
	t, n = trim(plan, plan.SkipLast)
	w.end -= t
	if n > 0 {
		w.to = max(w.from, len(intended)-n)
		w.end = min(w.end, at(intended, w.to, end))
	}
	w.end = max(w.end, w.start)
	return w
}

func at(intended []entry, i int, end int64) int64 {
	if i < len(intended) {
		return intended[i].intended
	}
	return end
}

// trim returns a trim as time or as a number of requests.
func trim(plan runplan.Stage, t runplan.Trim) (ns int64, requests int) {
	switch {
	case t.Requests > 0:
		return 0, t.Requests
	case t.Duration > 0:
		return int64(t.Duration), 0
	case plan.Duration > 0:
		return int64(t.Share * float64(plan.Duration)), 0
	}
	return 0, int(math.Round(t.Share * float64(plan.Requests)))
}

// phase returns the phase of the request at place i whose send counts at stamp at.
func (in *Stage) phase(w span, i int, at int64) string {
	switch {
	case !in.Plan.Measure:
		return report.PhaseUnmeasured
	case at >= in.End:
		return report.PhaseDrain
	case i < w.from || i >= w.to || early(in.Plan, w, at) || late(in.Plan, w, at):
		return report.PhaseSkipped
	}
	return report.PhaseMeasured
}

// early and late say whether a stamp lies in a trim that is a time. Where a trim counts requests, their places decide
// and not their times: sends at one moment have one time but different places.
func early(plan runplan.Stage, w span, at int64) bool {
	_, requests := trim(plan, plan.SkipFirst)
	return requests == 0 && at < w.start
}

func late(plan runplan.Stage, w span, at int64) bool {
	_, requests := trim(plan, plan.SkipLast)
	return requests == 0 && at >= w.end
}
