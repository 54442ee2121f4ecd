package main

import (
	"testing"
	"time"

	"bflow.dev/bflow/bench/rig"
)

// made returns 100 samples of a process.
func made(rss func(i int) int64, threads, descriptors func(i int) int) []sample {
	out := make([]sample, 100)
	for i := range out {
		out[i] = sample{
			at:     time.Duration(i) * time.Second,
			Memory: rig.Memory{RSS: rss(i), Threads: threads(i), Descriptors: descriptors(i)},
		}
	}
	return out
}

func TestVerdict(t *testing.T) {
	constant := func(n int) func(int) int { return func(int) int { return n } }
	flat := func(int) int64 { return 40 << 20 }
	for _, row := range []struct {
		name    string
		samples []sample
		faults  int
	}{
		{"what stays as it is passes", made(flat, constant(8), constant(40)), 0},
		{"what grows in the first tenth only passes",
			made(func(i int) int64 { return min(int64(i)*8, 40) << 20 }, constant(8), constant(40)), 0},
		{"the saw-tooth of a garbage collector is no growth",
			made(func(i int) int64 { return int64(30+i%5*3) << 20 }, constant(8), constant(40)), 0},
		{"memory that grows without end is told once per tenth",
			made(func(i int) int64 { return int64(40+i) << 20 }, constant(8), constant(40)), 8},
		{"a leak of descriptors is found", made(flat, constant(8), func(i int) int { return 40 + i }), 1},
		{"a leak of threads is found", made(flat, func(i int) int { return 8 + i/5 }, constant(40)), 1},
		{"two more threads are none", made(flat, func(i int) int { return 8 + i/50*2 }, constant(40)), 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, faults, err := verdict(row.samples)
			if err != nil || len(faults) != row.faults {
				t.Errorf("%q, %v; want %d faults", faults, err, row.faults)
			}
		})
	}
}

func TestAShortLoadProvesNothing(t *testing.T) {
	if _, _, err := verdict(make([]sample, 19)); err == nil {
		t.Error("19 samples were judged")
	}
}
