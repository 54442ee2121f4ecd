package verdict

import (
	"math"
	"testing"

	"bflow.dev/bflow/report"
)

func TestWilson(t *testing.T) {
	tests := []struct {
		name      string
		good, n   int64
		low, high float64
	}{
		{name: "none of ten", good: 0, n: 10, low: 0, high: 0.27753},
		{name: "half of ten", good: 5, n: 10, low: 0.23659, high: 0.76341},
		{name: "all of a hundred", good: 100, n: 100, low: 0.96300, high: 1},
		{name: "one of a thousand", good: 1, n: 1000, low: 0.000177, high: 0.005643},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			low, high := Wilson(tt.good, tt.n)
			if math.Abs(low-tt.low) > 1e-5 || math.Abs(high-tt.high) > 1e-5 {
				t.Errorf("Wilson(%d, %d) = %.6f, %.6f, want %.6f, %.6f", tt.good, tt.n, low, high, tt.low, tt.high)
			}
		})
	}
}

func TestQuantileIntervalIsOpenWhereValuesAreMissing(t *testing.T) {
	tests := []struct {
		name      string
		n         int
		p         float64
		low, high float64 // NaN = open
	}{
		{name: "the median of a hundred lies between ranks 40 and 61", n: 100, p: 50, low: 40, high: 61},
		{name: "the p99 of a hundred has no upper end", n: 100, p: 99, low: 97, high: math.NaN()},
		{name: "the p99 of a thousand has both ends", n: 1000, p: 99, low: 983, high: 998},
		{name: "one value has no interval", n: 1, p: 50, low: math.NaN(), high: math.NaN()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := report.NewDistribution("ms")
			for i := range tt.n {
				d.Add(float64(i + 1))
			}
			got := quantileInterval(d, tt.p)
			equal(t, "low", got.low, tt.low)
			equal(t, "high", got.high, tt.high)
		})
	}
}

func equal(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	switch {
	case got == nil && math.IsNaN(want):
	case got == nil || math.IsNaN(want) || math.Abs(*got-want) > 1e-6:
		t.Errorf("%s end %v, want %v", what, got, want)
	}
}

func TestRateInterval(t *testing.T) {
	if got := rateInterval(make([]float64, 29)); got.low != nil || got.high != nil {
		t.Errorf("29 s have an interval: %v", got)
	}
	var perSecond []float64
	for i := range 60 {
		perSecond = append(perSecond, 100+float64(i/5%2)*10) // blocks of 100 and 110
	}
	got := rateInterval(perSecond)
	half := 2.201 * math.Sqrt(5.0*5.0*12/11/12) // t with 11 degrees of freedom
	equalAbout(t, *got.low, 105-half)
	equalAbout(t, *got.high, 105+half)
}

func equalAbout(t *testing.T, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 0.02 {
		t.Errorf("got %v, want %v", got, want)
	}
}
