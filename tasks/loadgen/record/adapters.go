package record

import "bflow.dev/bflow/report"

// adapters split the measured requests of a stage by the adapter that they drew.
type adapters struct {
	names []string
	each  []adapter
}

type adapter struct {
	requests, ok int
	ttft, e2e    column[float64]
}

func newAdapters(names []string, s *store) *adapters {
	a := &adapters{names: names, each: make([]adapter, len(names))}
	for i := range a.each {
		a.each[i].ttft.store, a.each[i].e2e.store = s, s
	}
	return a
}

func (a *adapters) add(o *Outcome) {
	if o.Adapter < 0 || int(o.Adapter) >= len(a.each) {
		return
	}
	one := &a.each[o.Adapter]
	one.requests++
	if o.Status != report.StatusOK {
		return
	}
	one.ok++
	one.e2e.add(ms(o.End - o.Send))
	if o.First >= 0 {
		one.ttft.add(ms(o.First - o.Send))
	}
}

// results are the numbers of each adapter; nil without adapters.
func (a *adapters) results() map[string]report.AdapterResult {
	if len(a.names) == 0 {
		return nil
	}
	out := map[string]report.AdapterResult{}
	room := report.NewDistribution("")
	for i, name := range a.names {
		one := &a.each[i]
		r := report.AdapterResult{Requests: one.requests, OK: one.ok, Metrics: map[string]report.Metric{}}
		for metric, c := range map[string]*column[float64]{"ttft": &one.ttft, "e2e": &one.e2e} {
			if m, ok := distribution(c, report.Unit(metric), room).Metric(); ok {
				r.Metrics[metric] = m
			}
		}
		out[name] = r
	}
	return out
}
