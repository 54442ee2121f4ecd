package assemble

import (
	"errors"
	"slices"

	"bflow.dev/bflow/report"
)

// difference is what an engine counted between two readings.
type difference struct {
	counters   map[string]float64
	gauges     map[string]report.GaugeReading
	histograms map[string]buckets
	restarted  bool
	err        error // why there is no difference
}

// differences pairs the readings before and after each stage; engines is how many may have answered them, 0 = not
// known. A stage without any reading has no entry.
func differences(dir string, scrapes []report.Scrape, engines int) map[stageKey]*difference {
	type pair struct{ before, after *readingOrError }
	pairs := map[stageKey]pair{}
	l := readings{engines: engines}
	for i := range scrapes {
		s := &scrapes[i]
		key := stageKey{s.Sample, s.Stage}
		p := pairs[key]
		if s.When == "before" { // of another try at the stage, where there was one before
			p = pair{before: l.read(dir, s)}
		} else {
			p.after = l.read(dir, s)
		}
		pairs[key] = p
	}
	out := map[stageKey]*difference{}
	for key, p := range pairs {
		before, errB := p.before.result()
		after, errA := p.after.result()
		if err := errors.Join(errB, errA); err != nil {
			out[key] = &difference{err: err}
			continue
		}
		out[key] = l.between(before, after)
	}
	return out
}

// subtract returns after - before. A number that fell means that the engine started again in between: what it then
// counted is not the whole stage, so all differences are left out.
func subtract(before, after *reading) *difference {
	d := &difference{
		counters: map[string]float64{}, gauges: map[string]report.GaugeReading{}, histograms: map[string]buckets{},
	}
	d.restarted = before.started != after.started
	for id, v := range after.counters {
		if b, ok := before.counters[id]; ok {
			d.counters[id] = v - b
			d.restarted = d.restarted || v < b
		}
	}
	for id, v := range after.gauges {
		d.gauges[id] = report.GaugeReading{Before: before.gauges[id], After: v}
	}
	for id, h := range after.histograms {
		diff, ok := h.minus(before.histograms[id])
		d.histograms[id] = diff
		d.restarted = d.restarted || !ok
	}
	if d.restarted {
		d.counters, d.histograms = nil, nil
		d.err = errRestart
	}
	return d
}

// minus returns b - o, false where o counted more. An engine that had not seen a request yet has no buckets.
func (b buckets) minus(o buckets) (buckets, bool) {
	d := buckets{bounds: b.bounds, n: b.n - o.n, sum: b.sum - o.sum}
	same := slices.Equal(b.bounds, o.bounds)
	for i, c := range b.counts {
		if same {
			c -= o.counts[i]
		}
		d.counts = append(d.counts, c)
	}
	return d, d.n >= 0 && (same || o.n == 0)
}

// plus adds up two histograms; of differing bounds the buckets are dropped, the mean stays right.
func (b buckets) plus(o buckets) buckets {
	sum := buckets{n: b.n + o.n, sum: b.sum + o.sum}
	if slices.Equal(b.bounds, o.bounds) {
		sum.bounds = b.bounds
		for i := range b.counts {
			sum.counts = append(sum.counts, b.counts[i]+o.counts[i])
		}
	}
	return sum
}

// quantile returns the q-quantile (0 to 1) in seconds, interpolated within its bucket; false below the first bound and
// above the last one, where a bucket does not say how far it reaches.
func (b buckets) quantile(q float64) (float64, bool) {
	rank := q * b.n
	for i, c := range b.counts {
		if c < rank || c == 0 {
			continue
		}
		if i == 0 {
			return 0, false
		}
		low, below := b.bounds[i-1], b.counts[i-1]
		return low + (b.bounds[i]-low)*(rank-below)/(c-below), true
	}
	return 0, false
}

// summary returns the report's form, false without values.
func (b buckets) summary() (report.ServerHistogram, bool) {
	if b.n <= 0 || !finite(b.sum) {
		return report.ServerHistogram{}, false
	}
	h := report.ServerHistogram{N: b.n, MeanMS: b.sum / b.n * 1000, Quantiles: map[string]float64{}}
	for _, q := range report.Quantiles {
		if v, ok := b.quantile(q.P / 100); ok && q.P >= 50 && finite(v) {
			h.Quantiles[q.Name] = v * 1000
		}
	}
	return h, true
}

// report returns the difference as the report holds it.
func (d *difference) report() *report.ServerStage {
	s := &report.ServerStage{Counters: d.counters, Gauges: d.gauges}
	if d.err != nil {
		s.Error = d.err.Error()
	}
	for id, b := range d.histograms {
		if h, ok := b.summary(); ok {
			if s.Histograms == nil {
				s.Histograms = map[string]report.ServerHistogram{}
			}
			s.Histograms[id] = h
		}
	}
	return s
}
