package mlflow

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan/contract"
)

// Metrics that only exist here: per-token latencies in which a request weighs as much as it has tokens, which is what
// the old names mean. In our own metrics each request weighs the same.
const (
	tpotInclByToken = "tpot_incl_by_token" // (last - send) / n, weight n
	tpotByToken     = "tpot_by_token"      // (last - first) / (n - 1), weight n - 1
)

// stageKey is one stage of one sample.
type stageKey struct{ sample, stage int }

// weighed are values of one metric with their weights.
type weighed []value

// value is one request's.
type value struct {
	ms     float64 // per token
	tokens int
}

// addByToken adds the metrics weighted by tokens to the stages of the measurement in dir. They need the rows: without
// whole ones they stay absent, and the error says why; a measurement without rows has no error.
func addByToken(dir string, stages []report.StageResult) error {
	incl, excl, err := byToken(filepath.Join(dir, contract.FileRequests))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return errors.New("its rows cannot be read to their end")
	}
	for i := range stages {
		s := &stages[i]
		for name, values := range map[string]weighed{tpotInclByToken: incl[stageKey{s.Sample, s.Stage}],
			tpotByToken: excl[stageKey{s.Sample, s.Stage}]} {
			if len(values) == 0 {
				continue
			}
			if s.Metrics == nil {
				s.Metrics = map[string]report.Metric{}
			}
			s.Metrics[name] = values.metric()
		}
	}
	return nil
}

func byToken(path string) (incl, excl map[stageKey]weighed, err error) {
	rows, err := report.OpenRows(path)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	incl, excl = map[stageKey]weighed{}, map[stageKey]weighed{}
	for r, err := range rows.All() {
		if err != nil {
			return nil, nil, err
		}
		if r.Phase != report.PhaseMeasured || r.Status != report.StatusOK || r.TokensOut == nil || r.TLast == nil {
			continue
		}
		key, n := stageKey{r.Sample, r.Stage}, *r.TokensOut
		incl[key] = incl[key].add(*r.TLast-*r.TSend, n)
		excl[key] = excl[key].add(*r.TLast-*r.TFirst, n-1)
	}
	return incl, excl, nil
}

// add spreads a span over tokens; without any there is no value.
func (w weighed) add(ns int64, tokens int) weighed {
	if tokens < 1 {
		return w
	}
	return append(w, value{float64(ns) / 1e6 / float64(tokens), tokens})
}

// metric summarises the values. A quantile is the lowest value that its share of the tokens does not exceed, as where
// the names come from.
func (w weighed) metric() report.Metric {
	slices.SortFunc(w, func(a, b value) int { return cmp.Compare(a.ms, b.ms) })
	m := report.Metric{Unit: "ms_per_token", Min: w[0].ms, Max: w[len(w)-1].ms, Quantiles: map[string]float64{}}
	for _, v := range w {
		m.N += int64(v.tokens)
		m.Sum += v.ms * float64(v.tokens)
	}
	m.Mean = m.Sum / float64(m.N)
	for _, q := range report.Quantiles {
		m.Quantiles[q.Name] = w.quantile(q.P / 100 * float64(m.N))
	}
	return m
}

// quantile returns the value of sorted w at which the tokens reach rank.
func (w weighed) quantile(rank float64) float64 {
	reached := 0
	for _, v := range w {
		if reached += v.tokens; float64(reached) >= rank {
			return v.ms
		}
	}
	return w[len(w)-1].ms
}
