package schedule

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/tasks/runplan"
)

func times(t *testing.T, s runplan.Stage, rate float64, seed uint64) []float64 {
	t.Helper()
	open, err := Open(s, rate, seed)
	if err != nil {
		t.Fatal(err)
	}
	var out []float64
	for {
		at, ok := open.Next()
		if !ok {
			return out
		}
		out = append(out, at.Seconds())
	}
}

func stage(arrival string, duration float64, requests int) runplan.Stage {
	return runplan.Stage{Arrival: arrival, Duration: runplan.Duration(duration * 1e9), Requests: requests}
}

func TestCounts(t *testing.T) {
	ramp := stage(Constant, 10, 0)
	ramp.Ramp = runplan.Duration(4 * time.Second)
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
		{name: "a ramp of 4 s to 10/s sends 20, then 60 follow", stage: ramp, rate: 10, want: 80},
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

func TestConstantIsEven(t *testing.T) {
	for i, at := range times(t, stage(Constant, 10, 0), 7, 1) {
		if math.Abs(at-float64(i)/7) > 1e-9 {
			t.Fatalf("send %d at %v s, want %v", i, at, float64(i)/7)
		}
	}
}

func TestSendsAreInOrderAndInsideTheStage(t *testing.T) {
	for _, arrival := range []string{Constant, Poisson, Gamma} {
		for seed := range uint64(20) {
			s := stage(arrival, 5, 0)
			s.Ramp, s.Burstiness = runplan.Duration(seed)*runplan.Duration(time.Second)/4, 0.3
			got := times(t, s, 40, seed)
			if !slices.IsSorted(got) || len(got) > 0 && (got[0] < 0 || got[len(got)-1] >= 5) {
				t.Errorf("%s seed %d: sends out of order or outside the stage", arrival, seed)
			}
		}
	}
}

func TestTheSeedDecidesTheTimes(t *testing.T) {
	a, b, c := times(t, stage(Poisson, 5, 0), 20, 1), times(t, stage(Poisson, 5, 0), 20, 1), times(t, stage(Poisson, 5, 0), 20, 2)
	if !slices.Equal(a, b) || slices.Equal(a, c) {
		t.Error("the same seed must give the same times, another one others")
	}
}

func gapsOf(at []float64) []float64 {
	var out []float64
	for i := 1; i < len(at); i++ {
		out = append(out, at[i]-at[i-1])
	}
	return out
}

func TestPoissonGapsAreExponential(t *testing.T) {
	for seed := range uint64(5) {
		gaps := gapsOf(times(t, stage(Poisson, 0, 5000), 50, seed))
		slices.Sort(gaps)
		worst := 0.0
		for i, g := range gaps {
			cdf := 1 - math.Exp(-50*g)
			worst = max(worst, math.Abs(cdf-float64(i)/float64(len(gaps))), math.Abs(cdf-float64(i+1)/float64(len(gaps))))
		}
		// Kolmogorov and Smirnov: p = 0.01 lies at 1.63/sqrt(n).
		if limit := 1.63 / math.Sqrt(float64(len(gaps))); worst > limit {
			t.Errorf("seed %d: distance %v from the exponential distribution, limit %v", seed, worst, limit)
		}
	}
}

func TestPoissonCountsAreIndependent(t *testing.T) {
	at := times(t, stage(Poisson, 2000, 0), 20, 3)
	counts := make([]float64, 2000)
	for _, x := range at {
		counts[int(x)]++
	}
	mean, variance := spread(counts)
	if index := variance / mean; index < 0.9 || index > 1.1 {
		t.Errorf("index of dispersion %v, want 1", index)
	}
	gaps := gapsOf(at)
	m, v := spread(gaps)
	for lag := 1; lag <= 20; lag++ {
		sum := 0.0
		for i := lag; i < len(gaps); i++ {
			sum += (gaps[i] - m) * (gaps[i-lag] - m)
		}
		if r := sum / float64(len(gaps)) / v; math.Abs(r) > 0.02 {
			t.Errorf("autocorrelation at lag %d is %v", lag, r)
		}
	}
}

func spread(xs []float64) (mean, variance float64) {
	for _, x := range xs {
		mean += x / float64(len(xs))
	}
	for _, x := range xs {
		variance += (x - mean) * (x - mean) / float64(len(xs))
	}
	return mean, variance
}

func TestBurstinessSetsTheVariation(t *testing.T) {
	for _, b := range []float64{0.25, 1, 4} {
		s := stage(Gamma, 0, 40000)
		s.Burstiness = b
		mean, variance := spread(gapsOf(times(t, s, 10, 5)))
		if cv := math.Sqrt(variance) / mean; math.Abs(cv*math.Sqrt(b)-1) > 0.03 || math.Abs(mean*10-1) > 0.03 {
			t.Errorf("burstiness %v: coefficient of variation %v, want %v; mean gap %v s", b, cv, 1/math.Sqrt(b), mean)
		}
	}
}

func TestARampFollowsItsExpectedCount(t *testing.T) {
	s := stage(Constant, 20, 0)
	s.Ramp = runplan.Duration(10 * time.Second)
	for i, at := range times(t, s, 30, 1) {
		expected := 30 * at * at / 20
		if at > 10 {
			expected = 150 + 30*(at-10)
		}
		if math.Abs(expected-float64(i)) > 1e-4 {
			t.Fatalf("send %d at %v s, where %v are expected", i, at, expected)
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
}

func TestWhatHasNoScheduleIsAnError(t *testing.T) {
	tests := []struct {
		name    string
		arrival string
		rate    float64
		want    string
	}{
		{name: "a rate of zero", rate: 0, want: "not above 0"},
		{name: "a negative rate", rate: -1, want: "not above 0"},
		{name: "a rate that is no number", rate: math.NaN(), want: "not above 0"},
		{name: "an unknown arrival", arrival: "pareto", rate: 1, want: `arrival "pareto"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Open(stage(tt.arrival, 1, 0), tt.rate, 1); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}
