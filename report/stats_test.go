package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestPercentile(t *testing.T) {
	tests := []struct {
		name string
		xs   []float64
		p    float64
		want float64
	}{
		{name: "one value is every percentile", xs: []float64{7}, p: 99, want: 7},
		{name: "the median of two lies in the middle", xs: []float64{1, 2}, p: 50, want: 1.5},
		{name: "a quarter of five values is the second", xs: []float64{1, 2, 3, 4, 5}, p: 25, want: 2},
		{name: "between order statistics it interpolates as numpy does", xs: []float64{1, 2, 3, 10}, p: 90, want: 7.9},
		{name: "p0 is the minimum", xs: []float64{3, 4}, p: 0, want: 3},
		{name: "p100 is the maximum", xs: []float64{3, 4}, p: 100, want: 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Percentile(tt.xs, tt.p); math.Abs(got-tt.want) > 1e-12 {
				t.Errorf("Percentile(%v, %v) = %v, want %v", tt.xs, tt.p, got, tt.want)
			}
		})
	}
}

func TestLowN(t *testing.T) {
	tests := []struct {
		name string
		n    int64
		p    float64
		want bool
	}{
		{name: "999 values are too few for p99", n: 999, p: 99, want: true},
		{name: "1000 values carry p99", n: 1000, p: 99},
		{name: "1000 values are too few for p99.9", n: 1000, p: 99.9, want: true},
		{name: "10000 values carry p99.9", n: 10000, p: 99.9},
		{name: "20 values carry the median", n: 20, p: 50},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := LowN(tt.n, tt.p); got != tt.want {
				t.Errorf("LowN(%d, %v) = %v, want %v", tt.n, tt.p, got, tt.want)
			}
		})
	}
}

func TestSummarizeNothingIsAbsent(t *testing.T) {
	if _, ok := Summarize("ms", []float64{math.NaN(), math.Inf(1)}); ok {
		t.Error("a metric without values exists")
	}
}

func TestSummarize(t *testing.T) {
	m, ok := Summarize("ms", []float64{4, 1, 3, 2})
	if !ok || m.N != 4 || m.Sum != 10 || m.Mean != 2.5 || m.Min != 1 || m.Max != 4 {
		t.Errorf("got %+v", m)
	}
	if want := math.Sqrt(1.25); math.Abs(m.Stdev-want) > 1e-12 {
		t.Errorf("stdev %v, want that of the population %v", m.Stdev, want)
	}
	if m.Quantiles["p50"] != 2.5 || len(m.Quantiles) != len(Quantiles) {
		t.Errorf("quantiles %v", m.Quantiles)
	}
}

func TestHistogramIsWithinATenthOfAPercent(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	exact, hist := NewDistribution("ms"), NewDistribution("ms")
	hist.Condense()
	for range 50_000 {
		x := math.Exp(rng.NormFloat64()*2 + 3)
		exact.Add(x)
		hist.Add(x)
	}
	for _, q := range Quantiles {
		want, _ := exact.Percentile(q.P)
		got, _ := hist.Percentile(q.P)
		if math.Abs(got-want) > 2e-3*want {
			t.Errorf("%s = %v, exact %v", q.Name, got, want)
		}
	}
	if hist.hist == nil || hist.N() != exact.N() || math.Abs(hist.mean-exact.mean) > 1e-9*exact.mean {
		t.Errorf("n %d mean %v, want %d %v", hist.N(), hist.mean, exact.N(), exact.mean)
	}
}

func TestMergeEqualsAddingEverything(t *testing.T) {
	for _, condensed := range []bool{false, true} {
		all, a, b := NewDistribution("ms"), NewDistribution("ms"), NewDistribution("ms")
		if condensed {
			b.Condense()
		}
		for i := range 1000 {
			x := float64(i*i%977) + 0.5
			all.Add(x)
			if i%3 == 0 {
				a.Add(x)
			} else {
				b.Add(x)
			}
		}
		a.Merge(b)
		got, _ := a.Metric()
		want, _ := all.Metric()
		if got.N != want.N || math.Abs(got.Stdev-want.Stdev) > 1e-9 ||
			math.Abs(got.Quantiles["p90"]-want.Quantiles["p90"]) > 1 {
			t.Errorf("condensed %v: got %+v, want %+v", condensed, got, want)
		}
	}
}

func TestShareAtMost(t *testing.T) {
	d := NewDistribution("ms")
	for _, x := range []float64{1, 2, 2, 3} {
		d.Add(x)
	}
	if got, _ := d.ShareAtMost(2); got != 0.75 {
		t.Errorf("share of 1 2 2 3 that is at most 2 = %v, want 0.75", got)
	}
}

func TestQuantilesArePickedAsSortingFindsThem(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	tests := []struct {
		name string
		draw func(i int) float64
	}{
		{name: "latencies", draw: func(int) float64 { return math.Exp(rng.NormFloat64()*2 + 3) }},
		{name: "mostly zero", draw: func(i int) float64 { return max(0, rng.NormFloat64()-2) }},
		{name: "one value", draw: func(int) float64 { return 128 }},
		{name: "two values", draw: func(i int) float64 { return float64(i % 2) }},
		{name: "both zeros", draw: func(i int) float64 { return math.Copysign(0, float64(i%2)-0.5) * float64(i%3) }},
		{name: "both signs", draw: func(i int) float64 { return rng.NormFloat64() }},
		{name: "one far away",
			draw: func(i int) float64 { return 5 + 1e-9*rng.Float64() + 1e12*float64((i+1)/(i+1+(i%7919))) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, n := range []int{2049, 100_000} {
				xs := make([]float64, n)
				for i := range xs {
					xs[i] = tt.draw(i)
				}
				d, one := NewDistribution("ms"), NewDistribution("ms")
				d.AddAll(xs)
				for _, x := range xs {
					one.Add(x)
				}
				slices.Sort(xs)
				got, ok := d.Metric()
				for _, q := range Quantiles {
					if want := Percentile(xs, q.P); !ok || got.Quantiles[q.Name] != want {
						t.Errorf("%d values: %s = %v, want %v", n, q.Name, got.Quantiles[q.Name], want)
					}
				}
				want, _ := one.Metric()
				if got.N != want.N || math.Abs(got.Mean-want.Mean) > 1e-9*math.Abs(want.Mean)+1e-12 ||
					math.Abs(got.Stdev-want.Stdev) > 1e-6*want.Stdev+1e-9 {
					t.Errorf("moments %+v, one by one %+v", got, want)
				}
			}
		})
	}
}

func BenchmarkMetric100k(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	xs := make([]float64, 100_000)
	for i := range xs {
		xs[i] = math.Exp(rng.NormFloat64())
	}
	d := NewDistribution("ms")
	for b.Loop() {
		d.Reset("ms", len(xs))
		d.AddAll(xs)
		d.Metric()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e5, "ns/value")
}

func TestErrorRates(t *testing.T) {
	tests := []struct {
		name   string
		counts map[string]int
		want   float64
	}{
		{name: "failures, timeouts, empty answers and drops are errors", want: 0.8,
			counts: map[string]int{StatusOK: 1, StatusFailed: 1, StatusTimeout: 1,
				StatusEmpty: 1, StatusDropped: 1}},
		{name: "what was cut or cancelled counts nowhere", want: 0,
			counts: map[string]int{StatusOK: 1, StatusCut: 5, StatusCancelled: 5}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := (Counts{ByStatus: tt.counts}).ErrorRate(); got == nil || *got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	if got := (Counts{}).ErrorRate(); got != nil {
		t.Errorf("no request has the error rate %v", *got)
	}
}
