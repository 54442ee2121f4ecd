package imports

import (
	"maps"
	"math"

	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/report/tools"
)

// conclude makes the result of stage i: the tool's own numbers, over which go those computed from the rows where the
// file holds them all. Counts are the file's totals.
func conclude(in *tools.Imported, i int) (*report.StageResult, map[string]*report.Distribution) {
	s := &in.Stages[i]
	r := &report.StageResult{Stage: i, Planned: s.Planned, StartNS: s.StartNS, EndNS: s.EndNS, DrainEndNS: max(s.DrainEndNS, s.EndNS),
		Window: report.Window{StartNS: s.WindowStart, EndNS: s.WindowEnd, SkipFirst: s.Planned.SkipFirst, SkipLast: s.Planned.SkipLast},
		Ended:  s.Ended, Counts: s.Counts, Rates: finite(s.Rates), Goodput: s.Goodput, Tokens: s.Tokens, Metrics: map[string]report.Metric{}}
	for name, m := range s.Metrics {
		if isFinite(m) {
			r.Metrics[name] = m
		}
	}
	dists := map[string]*report.Distribution{}
	if s.Whole {
		dists = distributions(s)
		maps.DeleteFunc(dists, func(name string, _ *report.Distribution) bool { return unknown(in, name) })
	}
	for name, d := range dists {
		if m, ok := d.Metric(); ok {
			r.Metrics[name] = m
		}
	}
	refine(r, s.Rows)
	r.ErrorRate = errorRate(r.Counts)
	if r.Tokens.Sources == nil && in.TokenCountSource != "" {
		r.Tokens.Sources = map[string]int{in.TokenCountSource: r.Counts.ByStatus[report.StatusOK]}
	}
	r.Checks = append([]report.Check{{Name: "client_of_another_tool", Note: true, Reason: report.NotChecked,
		Text: in.Tool + " does not say whether its client kept up: its own lateness is not checked"}}, s.Checks...)
	return r, dists
}

// unknown says whether a metric of the rows is one that the tool does not know: a stamp stands in for another.
func unknown(in *tools.Imported, name string) bool {
	switch name {
	case "dial":
		return true
	case "queue_wait":
		return in.Tool != "vllm-bench"
	case "ttft": // the tool sees content only
		return in.Tool == "inference-perf"
	case "ttft_intended", "ttfc_intended", "e2e_intended", "sched_lag":
		return in.Tool == "inference-perf" || in.Tool == "vllm-bench" && name == "sched_lag"
	}
	return false
}

// distributions are the metrics of the rows: latencies of the requests that ended well, waits of all that were sent.
func distributions(s *tools.ImportedStage) map[string]*report.Distribution {
	out := map[string]*report.Distribution{}
	for name, number := range tools.Numbers() {
		d := report.NewDistribution(unit(name))
		for j := range s.Rows {
			wait := name == "sched_lag" || name == "queue_wait"
			if v, ok := number(&s.Rows[j]); ok && (wait || s.Rows[j].Status == report.StatusOK) {
				d.Add(v)
			}
		}
		if d.N() > 0 {
			out[name] = d
		}
	}
	if len(s.Gaps) > 0 {
		d := report.NewDistribution("ms")
		for _, g := range s.Gaps {
			d.Add(g)
		}
		out["itl"] = d
	}
	return out
}

func unit(metric string) string {
	if metric == "tpot_over_n" {
		return "ms_per_token"
	}
	return report.Unit(metric)
}

// refine splits failures into those of time and others, and gives their classes, where every failed request has a row.
func refine(r *report.StageResult, rows []report.Row) {
	statuses, classes, bad := map[string]int{}, map[string]int{}, 0
	for i := range rows {
		switch rows[i].Status {
		case report.StatusOK, report.StatusCut:
		default:
			statuses[rows[i].Status]++
			bad++
			if rows[i].ErrorClass != "" {
				classes[rows[i].ErrorClass]++
			}
		}
	}
	if bad == 0 || bad != r.Counts.ByStatus[report.StatusFailed] {
		return
	}
	by := maps.Clone(r.Counts.ByStatus)
	delete(by, report.StatusFailed)
	for status, n := range statuses {
		by[status] += n
	}
	r.Counts.ByStatus, r.Counts.ByClass = by, classes
}

func errorRate(c report.Counts) *float64 {
	bad := c.ByStatus[report.StatusFailed] + c.ByStatus[report.StatusTimeout] + c.ByStatus[report.StatusEmpty] + c.ByStatus[report.StatusDropped]
	n := bad + c.ByStatus[report.StatusOK]
	if n == 0 {
		return nil
	}
	rate := float64(bad) / float64(n)
	return &rate
}

func finite(rates map[string]float64) map[string]float64 {
	out := map[string]float64{}
	for name, v := range rates {
		if number(v) {
			out[name] = v
		}
	}
	return out
}

func number(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func isFinite(m report.Metric) bool {
	for _, v := range []float64{m.Mean, m.Stdev, m.Min, m.Max, m.Sum} {
		if !number(v) {
			return false
		}
	}
	for _, v := range m.Quantiles {
		if !number(v) {
			return false
		}
	}
	return true
}
