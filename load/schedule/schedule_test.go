package schedule

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/runplan"
)

func opened(t testing.TB, s runplan.Stage, rate float64, seed uint64) Schedule {
	t.Helper()
	open, err := Open(s, rate, seed)
	if err != nil {
		t.Fatal(err)
	}
	return open
}

func all(s Schedule) []Send {
	var out []Send
	for x, ok := s.Next(); ok; x, ok = s.Next() {
		out = append(out, x)
	}
	return out
}

// times returns the times of a stage in seconds.
func times(t testing.TB, s runplan.Stage, rate float64, seed uint64) []float64 {
	t.Helper()
	var out []float64
	for _, x := range all(opened(t, s, rate, seed)) {
		out = append(out, float64(x.At)/1e9)
	}
	return out
}

func stage(arrival string, duration float64, requests int) runplan.Stage {
	return runplan.Stage{Arrival: arrival, Duration: seconds(duration), Requests: requests}
}

func seconds(s float64) runplan.Duration { return runplan.Duration(s * 1e9) }

func ramped(s runplan.Stage, shape string, over, from float64, steps int) runplan.Stage {
	s.Ramp, s.RampShape = seconds(over), shape
	s.RampFrom, s.RampSteps = from, steps
	return s
}

func TestCounts(t *testing.T) {
	tests := []struct {
		name  string
		stage runplan.Stage
		rate  float64
		want  int
	}{
		{name: "10/s for 60 s are 600, not 609 and not 601", stage: stage(Constant, 60, 0), rate: 10, want: 600},
		{name: "the first bound counts: requests", stage: stage(Constant, 60, 7), rate: 10, want: 7},
		{name: "the first bound counts: duration", stage: stage(Constant, 0.5, 7), rate: 10, want: 5},
		{name: "a rate need not be whole", stage: stage(Constant, 10, 0), rate: 0.25, want: 3},
		{name: "a ramp of 4 s to 10/s sends 20, then 60 follow", stage: ramped(stage(Constant, 10, 0), "", 4, 0, 0),
			rate: 10, want: 80},
		{name: "a ramp may fall: from 30/s to 10/s are 80, then 60",
			stage: ramped(stage(Constant, 10, 0), RampLinear, 4, 30, 0), rate: 10, want: 140},
		{name: "five steps from 10/s to 50/s, 1 s each, then 2 s",
			stage: ramped(stage(Constant, 7, 0), RampSteps, 5, 10, 5), rate: 50, want: 250},
		{name: "five steps from nothing to 50/s begin at 10/s",
			stage: ramped(stage(Constant, 7, 0), RampSteps, 5, 0, 5), rate: 50, want: 250},
		{name: "one step holds the first rate", stage: ramped(stage(Constant, 7, 0), RampSteps, 5, 10, 1),
			rate: 50, want: 150},
		{name: "an exponential ramp from 1/s to 100/s over 10 s",
			stage: ramped(stage(Constant, 10, 0), RampExponential, 10, 1, 0), rate: 100, want: 215},
		{name: "an exponential ramp between equal rates",
			stage: ramped(stage(Constant, 10, 0), RampExponential, 10, 7, 0), rate: 7, want: 70},
		{name: "requests alone bound a random process", stage: stage(Poisson, 0, 1000), rate: 3, want: 1000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := times(t, tt.stage, tt.rate, 1); len(got) != tt.want {
				t.Errorf("%d sends, want %d", len(got), tt.want)
			}
		})
	}
}

// exactly is i*1e9/rate in rational numbers, rounded half up.
func exactly(i int64, rate float64) int64 {
	q := new(big.Rat).SetInt(new(big.Int).Mul(big.NewInt(i), big.NewInt(1e9)))
	q.Quo(q, new(big.Rat).SetFloat64(rate))
	q.Add(q, big.NewRat(1, 2))
	return new(big.Int).Div(q.Num(), q.Denom()).Int64()
}

func TestAConstantRateIsExactToTheNanosecond(t *testing.T) {
	for _, rate := range []float64{7, 10, 1000, 1e6, 1.0 / 3, 0.1, 0.7, 3.3, math.Pi, 999.999, 12345.678,
		2.5e6, 5e-4, 2e9, 4e9} {
		indices := []int64{0, 1, 2, 3, 10, 99, 1000, 123_457, 999_999, 2_000_000, 86_400_001, 999_999_999, 1<<40 + 1}
		for i := int64(0); i < 3000; i++ {
			indices = append(indices, i*7919)
		}
		for _, i := range indices {
			got, ok := evenly(i, rate)
			if want := exactly(i, rate); ok && got != want {
				t.Fatalf("send %d at %v/s: %d ns, want %d", i, rate, got, want)
			}
			if !ok && float64(i)*1e9/rate < 9e15 {
				t.Fatalf("send %d at %v/s is refused", i, rate)
			}
		}
	}
}

func TestEverySendIsInOrderInsideTheStageAndNumbered(t *testing.T) {
	for _, arrival := range []string{Constant, Poisson, Gamma} {
		for _, shape := range []string{RampLinear, RampExponential, RampSteps} {
			for seed := range uint64(20) {
				s := ramped(stage(arrival, 5, 0), shape, float64(seed)/4, float64(1+seed%7*9), 4)
				s.Burstiness = 0.3
				before := int64(0)
				for i, x := range all(opened(t, s, 40, seed)) {
					if x.At < before || x.At >= 5e9 || x.Index != int64(i) {
						t.Fatalf("%s %s seed %d: send %d is %+v after %d ns", arrival, shape, seed, i, x, before)
					}
					before = x.At
				}
			}
		}
	}
}

func TestTheSeedDecidesTheTimes(t *testing.T) {
	a, b, c := times(t, stage(Poisson, 5, 0), 20, 1), times(t, stage(Poisson, 5, 0), 20, 1),
		times(t, stage(Poisson, 5, 0), 20, 2)
	if !slices.Equal(a, b) || slices.Equal(a, c) {
		t.Error("the same seed must give the same times, another one others")
	}
}

func TestAnEndlessScheduleEndsWithTheClock(t *testing.T) {
	for _, arrival := range []string{Constant, Poisson} {
		if n := len(times(t, stage(arrival, 0, 0), 1e-9, 1)); n > 60 {
			t.Errorf("%s: %d sends a second in 30 years", arrival, n)
		}
	}
}

func TestShardsAreExactlyTheWhole(t *testing.T) {
	bursts := stage(Gamma, 20, 0)
	bursts.Burstiness = 0.2
	for name, s := range map[string]runplan.Stage{
		"constant": stage(Constant, 20, 0), "poisson": stage(Poisson, 20, 0), "gamma": bursts,
		"a number of requests":                  stage(Poisson, 0, 999),
		"poisson on a linear ramp":              ramped(stage(Poisson, 20, 0), RampLinear, 10, 5, 0),
		"constant on an exponential ramp":       ramped(stage(Constant, 20, 0), RampExponential, 10, 5, 0),
		"gamma on steps":                        ramped(bursts, RampSteps, 10, 5, 4),
		"fewer sends than shards":               stage(Constant, 0, 5),
		"constant on a linear ramp from 0":      ramped(stage(Constant, 20, 0), RampLinear, 10, 0, 0),
		"poisson on a ramp longer than a stage": ramped(stage(Poisson, 20, 0), RampLinear, 40, 0, 0),
	} {
		whole := all(opened(t, s, 97.3, 11))
		for _, n := range []int{1, 2, 3, 7, 16} {
			var union []Send
			for k := range n {
				part, err := Shard(opened(t, s, 97.3, 11), k, n)
				if err != nil {
					t.Fatal(err)
				}
				mine := all(part)
				if size := len(mine); size < len(whole)/n || size > len(whole)/n+1 {
					t.Errorf("%s: shard %d of %d has %d of %d sends", name, k, n, size, len(whole))
				}
				union = append(union, mine...)
			}
			slices.SortFunc(union, func(a, b Send) int { return int(a.Index - b.Index) })
			if !slices.Equal(union, whole) {
				t.Errorf("%s: the union of %d shards is not the whole", name, n)
			}
		}
	}
}

func TestSlotsStartEvenlyOverTheRamp(t *testing.T) {
	for j, want := range []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second} {
		if got := SlotStart(4*time.Second, j, 4); got != want {
			t.Errorf("slot %d starts at %v, want %v", j, got, want)
		}
	}
	if got := SlotStart(0, 3, 4); got != 0 {
		t.Errorf("without a ramp slot 3 starts at %v", got)
	}
	if got, want := SlotStart(24*time.Hour, 999_999, 1_000_000), 24*time.Hour-86400*time.Microsecond; got != want {
		t.Errorf("the last of a million slots starts at %v, want %v", got, want)
	}
}

func TestWhatHasNoScheduleIsAnError(t *testing.T) {
	tests := []struct {
		name  string
		stage runplan.Stage
		rate  float64
		want  string
	}{
		{name: "a rate of zero", rate: 0, want: "not above 0"},
		{name: "a negative rate", rate: -1, want: "not above 0"},
		{name: "a rate that is no number", rate: math.NaN(), want: "not above 0"},
		{name: "an unknown arrival", stage: stage("pareto", 1, 0), rate: 1, want: `arrival "pareto"`},
		{name: "bursts below nothing", stage: runplan.Stage{Arrival: Gamma, Burstiness: -1}, rate: 1, want: "burstiness -1"},
		{name: "an exponential ramp from nothing", stage: ramped(stage("", 1, 0), RampExponential, 1, 0, 0), rate: 1,
			want: "needs rampFrom above 0"},
		{name: "a ramp from less than nothing", stage: ramped(stage("", 1, 0), "", 1, -2, 0), rate: 1, want: "rampFrom -2"},
		{name: "steps without a number", stage: ramped(stage("", 1, 0), RampSteps, 1, 1, 0), rate: 1, want: "rampSteps 0"},
		{name: "an unknown ramp", stage: ramped(stage("", 1, 0), "sine", 1, 1, 0), rate: 1, want: `rampShape "sine"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Open(tt.stage, tt.rate, 1); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
	if _, err := Shard(nil, 3, 3); err == nil {
		t.Error("shard 3 of 3 is one too many")
	}
}

func TestNextDoesNotAllocate(t *testing.T) {
	bursts := ramped(stage(Gamma, 0, 0), RampSteps, 1, 1, 100)
	bursts.Burstiness = 0.5
	for name, s := range map[string]runplan.Stage{"constant": stage(Constant, 0, 0), "poisson": stage(Poisson, 0, 0),
		"gamma on steps": bursts} {
		part, _ := Shard(opened(t, s, 1000, 1), 1, 3)
		if n := testing.AllocsPerRun(1000, func() { part.Next() }); n != 0 {
			t.Errorf("%s: %v allocations per send", name, n)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for _, arrival := range []string{Constant, Poisson, Gamma} {
		b.Run(arrival, func(b *testing.B) {
			b.ReportAllocs()
			s := opened(b, stage(arrival, 0, 0), 1000, 1)
			for b.Loop() {
				s.Next()
			}
		})
	}
}
