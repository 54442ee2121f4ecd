package imports

import (
	"context"
	"maps"
	"math"
	"runtime"
	"slices"
	"sync"

	"bflow.dev/bflow/load/tool/registry"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

// mostAtOnce is of how many metrics the numbers of all requests are held at once.
const mostAtOnce = 4

// conclude makes the result of stage i: the tool's own numbers, over which go those computed from the rows where the
// file holds them all. Counts are the file's totals. The rows go to sorted, their distributions to values.
func conclude(
	ctx context.Context, in *tools.Imported, i int, sorted *rowSorter, values *report.HistogramWriter,
) (*report.StageResult, error) {
	s := &in.Stages[i]
	g, err := gather(ctx, s, i, sorted)
	if err != nil {
		return nil, err
	}
	r := &report.StageResult{Stage: i, Planned: s.Planned, StartNS: s.StartNS, EndNS: s.EndNS,
		DrainEndNS: max(s.DrainEndNS, s.EndNS),
		Window: report.Window{StartNS: s.WindowStart, EndNS: s.WindowEnd, SkipFirst: s.Planned.SkipFirst,
			SkipLast: s.Planned.SkipLast},
		Ended: s.Ended, Counts: s.Counts, Rates: finite(s.Rates), Goodput: s.Goodput, Tokens: s.Tokens,
		Metrics: map[string]report.Metric{}}
	for name, m := range s.Metrics {
		if isFinite(m) {
			r.Metrics[name] = m
		}
	}
	for names := range slices.Chunk(g.measured(in, s), min(mostAtOnce, runtime.GOMAXPROCS(0))) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		all := g.distributions(names)
		for n, name := range names {
			if m, ok := all[n].Metric(); ok {
				r.Metrics[name] = m
			}
			if err := values.Write(report.DistributionKey{Stage: i, Metric: name}, all[n]); err != nil {
				return nil, err
			}
		}
	}
	g.refine(r)
	r.ErrorRate = r.Counts.ErrorRate()
	if r.Tokens.Sources == nil && in.TokenCountSource != "" {
		r.Tokens.Sources = map[string]int{in.TokenCountSource: r.Counts.ByStatus[report.StatusOK]}
	}
	r.Checks = append([]report.Check{{Name: "client_of_another_tool", Note: true, Reason: report.NotChecked,
		Text: in.Tool + " does not say whether its client kept up: its own lateness is not checked"}}, s.Checks...)
	return r, nil
}

// gathered is what one walk over the rows of a stage leaves.
type gathered struct {
	requests tools.Requests
	gaps     *report.Distribution // of the requests that ended well
	statuses map[string]int       // of those that did not
	classes  map[string]int
	bad      int
}

func gather(ctx context.Context, s *tools.ImportedStage, stage int, sorted *rowSorter) (*gathered, error) {
	g := &gathered{gaps: report.NewDistribution("ms"), statuses: map[string]int{}, classes: map[string]int{}}
	if s.Rows == nil {
		return g, nil
	}
	for row, err := range s.Rows(ctx) {
		if err != nil {
			return nil, err
		}
		row.Stage = stage
		g.add(row)
		if err := sorted.add(&row.Row); err != nil {
			return nil, err
		}
	}
	return g, nil
}

func (g *gathered) add(row *tools.ImportedRow) {
	g.requests.Add(g.requests.Len(), &row.Row)
	switch row.Status {
	case report.StatusOK:
		g.gaps.AddAll(row.GapsMS)
	case report.StatusCut:
	default:
		g.bad++
		g.statuses[row.Status]++
		if row.ErrorClass != "" {
			g.classes[row.ErrorClass]++
		}
	}
}

// measured are the metrics of the rows that are computed, in the order of their names: none where the rows are a part.
func (g *gathered) measured(in *tools.Imported, s *tools.ImportedStage) []string {
	if !s.Whole {
		return nil
	}
	names := append(slices.Collect(maps.Keys(tools.Numbers())), "itl")
	slices.Sort(names)
	return slices.DeleteFunc(names, func(name string) bool { return unknown(in, name) })
}

// unknown says whether a metric of the rows is one that the tool does not know: a stamp stands in for another.
func unknown(in *tools.Imported, name string) bool {
	if name == "dial" {
		return true
	}
	if t, ok := registry.All().Find(in.Tool); ok {
		return slices.Contains(t.Results().Lacks, name)
	}
	return name == "queue_wait"
}

// distributions are some metrics of the rows, computed beside each other.
func (g *gathered) distributions(names []string) []*report.Distribution {
	all := make([]*report.Distribution, len(names))
	var each sync.WaitGroup
	for i, name := range names {
		each.Go(func() { all[i] = g.distribution(name) })
	}
	each.Wait()
	return all
}

// distribution is a metric of the rows: latencies of the requests that ended well, waits of all that were sent.
func (g *gathered) distribution(name string) *report.Distribution {
	if name == "itl" {
		return g.gaps
	}
	number, wait := tools.Numbers()[name], name == "sched_lag" || name == "queue_wait"
	d := report.NewDistribution(unit(name))
	d.Reset(unit(name), g.requests.Len())
	for r := range g.requests.Numbers() {
		if v, ok := number(r); ok && (wait || r.Status == report.StatusOK) {
			d.Add(v)
		}
	}
	return d
}

func unit(metric string) string {
	if metric == "tpot_over_n" {
		return "ms_per_token"
	}
	return report.Unit(metric)
}

// refine splits failures into those of time and others, and gives their classes, where every failed request has a row.
func (g *gathered) refine(r *report.StageResult) {
	if g.bad == 0 || g.bad != r.Counts.ByStatus[report.StatusFailed] {
		return
	}
	by := maps.Clone(r.Counts.ByStatus)
	delete(by, report.StatusFailed)
	for status, n := range g.statuses {
		by[status] += n
	}
	r.Counts.ByStatus, r.Counts.ByClass = by, g.classes
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
