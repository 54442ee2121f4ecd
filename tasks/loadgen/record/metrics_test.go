package record

import (
	"math"
	"testing"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
)

func near(a, b float64) bool { return math.Abs(a-b) < 5e-6 }

// all are the metrics that have values.
func (d *distributions) all(t *testing.T) map[string]report.Metric {
	t.Helper()
	out := map[string]report.Metric{}
	err := d.each(func(names []string, values, _ *report.Distribution) error {
		for _, name := range names {
			out[name], _ = values.Metric()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestMetricsOfOneRequest(t *testing.T) {
	// 128 tokens in 128 events; times as in the definition of the metrics.
	o := makeOutcome(0)
	o.Send = 1_000_000 // a millisecond after it was intended
	o.FirstByte = o.Send + 5_000_000
	o.Out, o.In = 128, 64
	first, last := o.Send+1_014_298_700, o.Send+1_014_298_700+1_316_958_000
	o.Token(first, 1)
	for i := int64(1); i < 128; i++ {
		o.Token(first+(last-first)*i/127, 1)
	}
	o.Content = first
	o.End = o.Send + 2_331_290_700
	d := &distributions{store: new(store)}
	d.addOK(o)
	d.addSent(o)
	want := map[string]float64{
		"ttft": 1014.2987, "ttft_intended": 1015.2987, "ttfc": 1014.2987, "ttfb": 5, "e2e": 2331.2907,
		"e2e_intended":   2332.2907,
		"e2e_last_token": 2331.2567, "tpot": 10.369748, "tpot_incl": 18.212943, "ntpot": 2331.2907 / 128,
		"output_rate_user": 128 / 2.3312907, "total_rate_user": 192 / 2.3312907, "itl": 1316.958 / 127,
		"itl_perceived": 1316.958 / 127,
		"sched_lag":     1, "queue_wait": 0, "tokens_out": 128, "tokens_in": 64,
	}
	got := d.all(t)
	for name, x := range want {
		m, ok := got[name]
		if !ok || !near(m.Mean, x) {
			t.Errorf("%s = %v, want %v", name, m.Mean, x)
		}
	}
	if _, ok := got["tpot_strict"]; ok {
		t.Error("tpot_strict exists although the first event held one token")
	}
}

func TestMetricsOfEventsThatHoldSeveralTokens(t *testing.T) {
	one, four := makeOutcome(0), makeOutcome(0)
	one.Send, four.Send = 0, 0
	one.Token(10e6, 1)
	one.Token(18e6, 1)
	one.End, one.Out = 18e6, 2
	for i := range int64(3) {
		four.Token((10+8*i)*1e6, 4)
	}
	four.End, four.Out = 26e6, 12
	d := &distributions{store: new(store)}
	d.addOK(one)
	d.addOK(four)
	tests := []struct {
		name string
		n    int64
		mean float64
	}{
		{name: "itl", n: 3, mean: 8},
		{name: "itl_perceived", n: 9, mean: 24.0 / 9},
		{name: "itl_smoothed", n: 9, mean: 24.0 / 9},
		{name: "tpot_strict", n: 1, mean: 2},
		{name: "tpot", n: 2, mean: (8 + 16.0/11) / 2},
	}
	got := d.all(t)
	for _, tt := range tests {
		m, ok := got[tt.name]
		if !ok || m.N != tt.n || !near(m.Mean, tt.mean) {
			t.Errorf("%s: %d values of mean %v, want %d of %v", tt.name, m.N, m.Mean, tt.n, tt.mean)
		}
	}
}

func TestWhatDidNotHappenIsAbsent(t *testing.T) {
	o := makeOutcome(0)
	o.Send, o.FirstByte = 0, 1e6
	o.End, o.Out = 2e6, 1
	d := &distributions{store: new(store)}
	d.addOK(o)
	got := d.all(t)
	for _, name := range []string{"ttft", "itl", "itl_perceived", "tpot", "tpot_incl", "e2e_last_token", "ttfc"} {
		if _, ok := got[name]; ok {
			t.Errorf("%s exists for an answer that did not stream", name)
		}
	}
}

func TestConcurrencyIsWeightedByTime(t *testing.T) {
	f := newFlight(new(store))
	f.add(0, 10e9)    // all the time
	f.add(5e9, 10e9)  // half of it
	f.add(-3e9, -1e9) // before the window
	m, ok := f.metric(0, 10e9)
	if !ok || !near(m.Mean, 1.5) || m.Max != 2 || m.Min != 1 || m.N != 10 || m.Quantiles["p25"] != 1 ||
		m.Quantiles["p75"] != 2 {
		t.Errorf("concurrency %+v", m)
	}
	if _, ok := f.metric(3, 3); ok {
		t.Error("an empty window has a concurrency")
	}
}

func TestWindows(t *testing.T) {
	second := int64(1e9)
	entries := []entry{{intended: 0}, {intended: second}, {intended: 2 * second}, {intended: 3 * second}}
	tests := []struct {
		name       string
		plan       runplan.Stage
		start, end int64
		from, to   int
	}{
		{name: "without trims the window is the stage", end: 4 * second, to: 4},
		{name: "a share of a duration is time", plan: runplan.Stage{Duration: runplan.Duration(4 * second),
			SkipFirst: runplan.Trim{Share: 0.25}}, start: second, end: 4 * second, to: 4},
		{name: "a share of requests counts them", plan: runplan.Stage{Requests: 4, SkipFirst: runplan.Trim{Share: 0.5}},
			start: 2 * second, end: 4 * second, from: 2, to: 4},
		{name: "requests at the end", plan: runplan.Stage{SkipLast: runplan.Trim{Requests: 1}}, end: 3 * second, to: 3},
		{name: "trims longer than the stage leave an empty window",
			plan: runplan.Stage{SkipFirst: runplan.Trim{Duration: runplan.Duration(9 * second)}}, start: 9 * second,
			end: 9 * second, to: 4},
		{name: "more skipped requests than there are leave none",
			plan: runplan.Stage{SkipFirst: runplan.Trim{Requests: 9}}, start: 4 * second,
			end: 4 * second, from: 4, to: 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := windowOf(tt.plan, 0, 4*second, entries)
			if w.start != tt.start || w.end != tt.end || w.from != tt.from || w.to != tt.to {
				t.Errorf("window %+v, want %d to %d, places %d to %d", w, tt.start, tt.end, tt.from, tt.to)
			}
		})
	}
}
