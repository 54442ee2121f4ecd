package radix

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestFloatsAreInAscendingOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	tests := []struct {
		name string
		draw func(i int) float64
	}{
		{name: "latencies", draw: func(int) float64 { return math.Exp(rng.NormFloat64()) }},
		{name: "both signs", draw: func(int) float64 { return rng.NormFloat64() * 1e9 }},
		{name: "whole numbers, many alike", draw: func(int) float64 { return float64(rng.IntN(7)) }},
		{name: "one value", draw: func(int) float64 { return 3 }},
		{name: "sorted already", draw: func(i int) float64 { return float64(i) }},
		{name: "backwards", draw: func(i int) float64 { return -float64(i) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, n := range []int{0, 1, 2, few, few + 1, 100_000} {
				xs := make([]float64, n)
				for i := range xs {
					xs[i] = tt.draw(i)
				}
				want := slices.Clone(xs)
				slices.Sort(want)
				Floats(xs, make([]float64, n/2))
				if !slices.Equal(xs, want) {
					t.Fatalf("%d values are not sorted", n)
				}
			}
		})
	}
}

func TestStampsSortAsTheirNumbersDo(t *testing.T) {
	keys := []uint64{}
	for i := range int64(2000) {
		keys = append(keys, Stamp((i*7919)%2000-1000))
	}
	Sort(keys, nil)
	for i, k := range keys {
		if Unstamp(k) != int64(i)-1000 {
			t.Fatalf("key %d is %d", i, Unstamp(k))
		}
	}
}

func BenchmarkFloats100k(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	xs, ys, scratch := make([]float64, 100_000), make([]float64, 100_000), make([]float64, 100_000)
	for i := range xs {
		xs[i] = math.Exp(rng.NormFloat64())
	}
	for b.Loop() {
		copy(ys, xs)
		Floats(ys, scratch)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e5, "ns/value")
}
