package truth

import (
	"math"
	"math/rand/v2"
	"testing"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/sim"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > tolerance {
		t.Errorf("%s is %v, want %v ± %v", what, got, want, tolerance)
	}
}

// process returns n arrival times of a process whose gaps are drawn by next.
func process(n int, next func() float64) []float64 {
	at := make([]float64, n)
	for i := 1; i < n; i++ {
		at[i] = at[i-1] + next()
	}
	return at
}

func TestAPoissonProcessIsOne(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	at := process(60000, func() float64 { return r.ExpFloat64() / 1000 })
	gaps := Gaps(at)
	if p := KolmogorovSmirnov(gaps, 0.001); p < 0.01 {
		t.Errorf("KS p-value %v", p)
	}
	if a := Autocorrelation(gaps, 20); a > 0.02 {
		t.Errorf("autocorrelation %v", a)
	}
	index, windows := Dispersion(at, 0.03)
	near(t, "dispersion", index, 1, 0.1)
	near(t, "windows", float64(windows), 2000, 20)
	near(t, "CV", CV(gaps), 1, 0.02)
}

func TestWhatIsNoPoissonProcessIsFoundOut(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	last, again := 0.0, false
	twice := func() float64 { // each gap drawn twice
		if again = !again; again {
			last = r.ExpFloat64() / 1000
		}
		return last
	}
	at := process(60000, twice)
	near(t, "dispersion of gaps drawn twice", first(Dispersion(at, 0.03)), 2, 0.2)
	near(t, "autocorrelation of gaps drawn twice", Autocorrelation(Gaps(at), 20), 0.5, 0.05)
	even := process(60000, func() float64 { return 0.001 })
	if p := KolmogorovSmirnov(Gaps(even), 0.001); p > 1e-6 {
		t.Errorf("KS p-value of constant gaps %v", p)
	}
	near(t, "CV of constant gaps", CV(Gaps(even)), 0, 1e-6)
	slow := process(6000, func() float64 { return r.ExpFloat64() / 900 })
	if p := KolmogorovSmirnov(Gaps(slow), 0.001); p > 1e-6 {
		t.Errorf("KS p-value of the wrong rate %v", p)
	}
}

func first(a float64, _ int) float64 { return a }

// The value at 1.36 is the well-known 5 % point.
func TestKolmogorovsDistribution(t *testing.T) {
	near(t, "K(1.358)", kolmogorov(1.358), 0.05, 0.0005)
	near(t, "K(1.628)", kolmogorov(1.628), 0.01, 0.0002)
	near(t, "K(0.1)", kolmogorov(0.1), 1, 0)
}

func TestQuantiles(t *testing.T) {
	xs := []float64{4, 1, 3, 2}
	got := Quantiles(xs, 0, 50, 100)
	near(t, "minimum", got[0], 1, 0)
	near(t, "median", got[1], 2.5, 0)
	near(t, "maximum", got[2], 4, 0)
	if xs[0] != 4 {
		t.Error("the values were sorted in place")
	}
	if !math.IsNaN(Quantiles(nil, 50)[0]) {
		t.Error("the median of nothing is a number")
	}
}

func ns(v int64) *int64 { return &v }

func sample() ([]report.Row, []sim.Record) {
	tokens := 3
	row := report.Row{ID: "r-1-m0-r0-s0-0-0", Status: report.StatusOK, Phase: report.PhaseMeasured,
		TIntended: 1000, TSend: ns(2000),
		TFirst: ns(1_010_000), TokensOut: &tokens, Gaps: []int32{500, 510}}
	log := sim.Record{
		RequestID: row.ID, Arrival: 5_004_000, Events: []int64{1_000_000, 1_500_000, 2_000_000}, OutputTokens: 3,
	}
	lost := sim.Record{RequestID: "r-1-m0-r0-s0-1-0", Arrival: 6_000_000}
	return []report.Row{row, {ID: "x", Status: report.StatusDropped}}, []sim.Record{log, lost}
}

func TestErrorsOfAClientAreMeasured(t *testing.T) {
	rows, log := sample()
	pairs, lost, err := Join(rows, log)
	if err != nil || lost != 1 || len(Measured(pairs)) != 1 {
		t.Fatalf("%d pairs, %d lost, %v", len(pairs), lost, err)
	}
	near(t, "ttft error", TTFTErrors(pairs)[0], 8, 1e-9) // 1008 µs against 1000
	gaps, err := GapErrors(pairs)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "error of the second gap", gaps[1], 10, 1e-9)
	stamps, err := StampErrors(pairs, 5_000_000)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "error of the first stamp", stamps[0], 6, 1e-6)
	near(t, "error of the last stamp", stamps[2], 16, 1e-6)
	near(t, "lateness", SendLateness(pairs, 5_000_000)[0], 3, 1e-9)
	near(t, "ttft from intended", Intended(pairs)[0], 1.009, 1e-9)
	if claimed, sent := Tokens(pairs); claimed != 3 || sent != 3 {
		t.Errorf("tokens %d and %d", claimed, sent)
	}
}

func TestClaimsWithoutTruthAreErrors(t *testing.T) {
	rows, log := sample()
	if _, _, err := Join(rows, log[1:]); err == nil {
		t.Error("a row that the engine does not know was joined")
	}
	rows[0].Gaps = nil
	pairs, _, err := Join(rows, log)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := GapErrors(pairs); err == nil {
		t.Error("missing gaps were compared")
	}
	if _, err := StampErrors(pairs, 0); err == nil {
		t.Error("missing gaps were stamped")
	}
}

func TestRecordsOfAStageAreFoundByTheirIds(t *testing.T) {
	log := []sim.Record{{RequestID: "r-1-m0-r0-s0-0-0"}, {RequestID: "r-1-m0-r0-s1-0-0"}, {RequestID: "probe"}}
	if got := OfStage(log, 1); len(got) != 1 || got[0].RequestID != log[1].RequestID {
		t.Errorf("%+v", got)
	}
}
