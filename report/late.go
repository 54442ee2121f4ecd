package report

import (
	"maps"
	"math"
	"slices"
)

// Number is one number of a stage: a quantile of a metric ("p99") or its mean ("mean").
type Number struct {
	Metric   string `json:"metric"`
	Quantile string `json:"quantile"`
}

func (n Number) String() string { return n.Metric + " " + n.Quantile }

// Headlines are the latencies by which a stage is shown where there is room for one line.
func Headlines() []Number {
	return []Number{
		{"ttft", "p50"}, {"ttft", "p95"}, {"ttft", "p99"}, {"itl", "p50"}, {"itl", "p99"},
		{"e2e", "p50"}, {"e2e", "p99"},
	}
}

// Shift is a number that lateness of the client has changed by more than is allowed, as far as is known.
type Shift struct {
	Number
	By    float64 `json:"by"`    // the number less what it would be, in the unit of the metric
	Limit float64 `json:"limit"` // what is allowed, either way
}

// Of a number that may be wrong: the share, and in ms what is allowed of small ones.
const (
	shiftShare = 0.01
	shiftLeast = 0.05
)

// Shifts compares a metric with what it would be had the client been in time.
func Shifts(name string, m, timely Metric) []Shift {
	var out []Shift
	compare := func(quantile string, have, want float64) {
		s := Shift{Number{name, quantile}, have - want, max(shiftShare*math.Abs(want), shiftLeast)}
		if math.Abs(s.By) > s.Limit {
			out = append(out, s)
		}
	}
	compare("mean", m.Mean, timely.Mean)
	for _, q := range slices.Sorted(maps.Keys(m.Quantiles)) {
		if want, ok := timely.Quantiles[q]; ok {
			compare(q, m.Quantiles[q], want)
		}
	}
	return out
}

// Shifted returns the shift of a number of the stage; false where lateness has not changed it.
func (r *StageResult) Shifted(n Number) (Shift, bool) {
	i := slices.IndexFunc(r.Shifts, func(s Shift) bool { return s.Number == n })
	if i < 0 {
		return Shift{}, false
	}
	return r.Shifts[i], true
}

// AddShifts takes in the shifts of another sample of the stage: of one number the larger counts.
func (r *StageResult) AddShifts(more []Shift) {
	r.Shifts = slices.Clone(r.Shifts)
	for _, s := range more {
		i := slices.IndexFunc(r.Shifts, func(o Shift) bool { return o.Number == s.Number })
		switch {
		case i < 0:
			r.Shifts = append(r.Shifts, s)
		case math.Abs(s.By)/s.Limit > math.Abs(r.Shifts[i].By)/r.Shifts[i].Limit:
			r.Shifts[i] = s
		}
	}
}

// Reliable returns quantile q, or the highest below it that has enough values beyond it where q has too few; false
// where none has.
func (m Metric) Reliable(q string) (string, bool) {
	at := slices.IndexFunc(Quantiles, func(o struct {
		Name string
		P    float64
	}) bool {
		return o.Name == q
	})
	if at < 0 {
		return q, true // the mean
	}
	for ; at >= 0 && Quantiles[at].P >= 50; at-- {
		if name := Quantiles[at].Name; m.Has(name) && !m.IsLowN(name) {
			return name, true
		}
	}
	return "", false
}
