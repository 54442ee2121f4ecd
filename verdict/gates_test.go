package verdict

import (
	"testing"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
)

// evidence is a stage whose requests took 1, 2, ... n ms to the first token, with failed ones beside them.
func evidence(n, failed int) Evidence {
	d := report.NewDistribution("ms")
	for i := range n {
		d.Add(float64(i + 1))
	}
	s := report.Stage{Valid: true}
	s.Planned = runplan.Stage{Name: "s", Measure: true}
	s.Counts = report.Counts{Total: n + failed, ByStatus: map[string]int{report.StatusOK: n, report.StatusFailed: failed}}
	s.Metrics = map[string]report.Metric{}
	if m, ok := d.Metric(); ok {
		s.Metrics["ttft_intended"] = m
	}
	s.Rates = map[string]float64{"output_token_rate": 1000}
	return Evidence{Stage: s, Values: func(metric string) *report.Distribution {
		if metric == "ttft_intended" && n > 0 {
			return d
		}
		return nil
	}}
}

func latency(metric, quantile string, limit time.Duration) *runplan.SLO {
	return &runplan.SLO{Latency: map[string]map[string]runplan.Duration{metric: {quantile: runplan.Duration(limit)}}}
}

func share(v float64) *float64 { return &v }

func TestGates(t *testing.T) {
	tests := []struct {
		name   string
		slo    *runplan.SLO
		e      Evidence
		metric string
		want   string
	}{
		{name: "an interval below the limit passes", slo: latency("ttft", "p95", 1100*time.Millisecond),
			e: evidence(1000, 0), metric: "ttft", want: Pass},
		{name: "an interval above the limit fails", slo: latency("ttft", "p95", 500*time.Millisecond),
			e: evidence(1000, 0), metric: "ttft", want: Fail},
		{name: "an interval across the limit is inconclusive", slo: latency("ttft", "p95", 951*time.Millisecond),
			e: evidence(1000, 0), metric: "ttft", want: Inconclusive},
		{name: "too few values for the upper end cannot pass", slo: latency("ttft", "p99", time.Hour),
			e: evidence(50, 0), metric: "ttft", want: Inconclusive},
		{name: "too few values for the upper end can fail by the lower", slo: latency("ttft", "p99", time.Millisecond),
			e: evidence(50, 0), metric: "ttft", want: Fail},
		{name: "a mean is judged by its interval", slo: latency("ttft", "mean", 600*time.Millisecond),
			e: evidence(1000, 0), metric: "ttft", want: Pass},
		{name: "a latency that nobody measured is inconclusive", slo: latency("tpot", "p50", time.Hour),
			e: evidence(1000, 0), metric: "tpot", want: Inconclusive},
		{name: "without an slo an error rate of 0.5 % passes", e: evidence(995, 5), metric: "error_rate", want: Pass},
		{name: "without an slo an error rate of 1 % passes", e: evidence(990, 10), metric: "error_rate", want: Pass},
		{name: "without an slo an error rate above 1 % fails", e: evidence(989, 11), metric: "error_rate", want: Fail},
		{name: "an slo without a word about errors keeps that rule", slo: latency("ttft", "p50", time.Hour),
			e: evidence(900, 100), metric: "error_rate", want: Fail},
		{name: "an error rate whose interval crosses its objective is inconclusive",
			slo: &runplan.SLO{ErrorRate: share(0.01)}, e: evidence(989, 11), metric: "error_rate", want: Inconclusive},
		{name: "an error rate far above its objective fails", slo: &runplan.SLO{ErrorRate: share(0.01)},
			e: evidence(900, 100), metric: "error_rate", want: Fail},
		{name: "no error at all passes every objective", slo: &runplan.SLO{ErrorRate: share(0)}, e: evidence(20, 0),
			metric: "error_rate", want: Pass},
		{name: "a rate without an interval decides by its value: enough", slo: &runplan.SLO{MinThroughput: share(900)},
			e: evidence(10, 0), metric: "output_token_rate", want: Pass},
		{name: "a rate without an interval decides by its value: too little",
			slo: &runplan.SLO{MinThroughput: share(1100)}, e: evidence(10, 0), metric: "output_token_rate", want: Fail},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, g := range Gates(tt.slo, tt.e) {
				if g.Metric == tt.metric {
					if g.Verdict != tt.want {
						t.Errorf("%s: %s with %v, want %s", Describe(g), g.Verdict, g, tt.want)
					}
					return
				}
			}
			t.Errorf("no gate for %s", tt.metric)
		})
	}
}

func TestGoodputGate(t *testing.T) {
	tests := []struct {
		name     string
		good, of int
		met      int // answers that had a ttft, and met the objective for it; -1 = nobody says
		want     string
	}{
		{name: "all of a thousand hold 95 %", good: 1000, of: 1000, met: -1, want: Pass},
		{name: "all of a thousand, of which some have no ttft", good: 1000, of: 1000, met: 10, want: Pass},
		{name: "none of a thousand could be held to its objective", good: 1000, of: 1000, want: Inconclusive},
		{name: "half of a thousand failed, and the rest could not be held to it", good: 500, of: 1000, want: Fail},
		{name: "all of twenty cannot show 95 %", good: 20, of: 20, met: -1, want: Inconclusive},
		{name: "half of a thousand miss 95 %", good: 500, of: 1000, met: -1, want: Fail},
		{name: "no request is not a share", of: 0, met: -1, want: Inconclusive},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := report.Stage{}
			s.Goodput = &report.GoodputResult{Good: tt.good, Of: tt.of}
			if tt.of > 0 {
				s.Goodput.Attainment = float64(tt.good) / float64(tt.of)
			}
			if tt.met >= 0 {
				s.Goodput.Met, s.Goodput.Undetermined = map[string]int{"ttft": tt.met}, map[string]int{"ttft": tt.good - tt.met}
			}
			if g := goodputGate(s, 0.95); g.Verdict != tt.want {
				t.Errorf("got %s, want %s", g.Verdict, tt.want)
			}
		})
	}
}

func TestGoodputSpeaksForErrors(t *testing.T) {
	for _, g := range Gates(&runplan.SLO{Goodput: &runplan.Goodput{Min: 0.9}}, evidence(90, 10)) {
		if g.Metric == "error_rate" {
			t.Error("an objective for goodput counts errors as bad, and there is a gate for errors beside it")
		}
	}
}

func TestGoodputDoesNotHideDroppedRequests(t *testing.T) {
	goodput := &runplan.SLO{Goodput: &runplan.Goodput{Min: 0.5}}
	for _, tt := range []struct {
		name    string
		slo     *runplan.SLO
		dropped int
		want    string
	}{
		{name: "none was dropped", slo: goodput},
		{name: "one of a thousand was", slo: goodput, dropped: 1, want: "drop_rate pass"},
		{name: "half were", slo: goodput, dropped: 1000, want: "drop_rate fail"},
		{name: "an objective for errors counts them",
			slo: &runplan.SLO{Goodput: goodput.Goodput, ErrorRate: share(0.6)}, dropped: 1000, want: "error_rate pass"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, got := evidence(950, 50), ""
			e.Stage.Counts.ByStatus[report.StatusDropped] = tt.dropped
			for _, g := range Gates(tt.slo, e) {
				if g.Unit == "share" && g.Metric != "goodput" {
					got = g.Metric + " " + g.Verdict
				}
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
