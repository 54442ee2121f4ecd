package loadgen

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/sim"
)

// truthOf returns what the engine knows of the requests of the stages, without the probes.
func truthOf(b *bench) []sim.Record {
	return slices.DeleteFunc(b.engine.Truth(), func(r sim.Record) bool {
		return !strings.HasPrefix(r.RequestID, "r-1-m0-r")
	})
}

func TestPromptsHaveTheLengthThatWasAsked(t *testing.T) {
	lengths := map[string]*runplan.Length{
		"fixed": {Shape: "fixed", Mean: 200}, "uniform": {Shape: "uniform", Mean: 100, Min: 20, Max: 300},
		"normal":    {Shape: "normal", Mean: 100, Stdev: 30, Min: 10, Max: 200},
		"lognormal": {Shape: "lognormal", Mean: 100, Stdev: 50},
	}
	for shape, length := range lengths {
		for _, api := range []runplan.API{
			{Type: "chat", Path: "/v1/chat/completions"}, {Type: "completions", Path: "/v1/completions"},
		} {
			t.Run(shape+" lengths over "+api.Type, func(t *testing.T) {
				b := makeBench(t, sim.Config{}, closedLoop(4, 30))
				m := &b.plan.Measurements[0]
				m.Data.Input = length
				m.API.Type, m.API.Path = api.Type, api.Path
				r := b.measure(t)
				for _, row := range r.rows {
					if row.TokensIn == nil || row.TokensInAsked == nil || *row.TokensIn != *row.TokensInAsked {
						t.Fatalf("row %q: %v tokens in, asked %v", row.ID, row.TokensIn, row.TokensInAsked)
					}
				}
				if c := findCheck(r.stages[0], "input_length_gap"); c == nil || !c.OK {
					t.Errorf("check %+v", c)
				}
			})
		}
	}
}

func TestPromptsShareNoPrefixByAccident(t *testing.T) {
	b := makeBench(t, sim.Config{Sim: runplan.Sim{PrefillTokensPerS: 1e6, DecodeTokensPerS: 1e5, PrefixCache: true,
		KVTokens: 1 << 20}}, closedLoop(4, 40))
	b.plan.Measurements[0].Samples = 2
	b.measure(t)
	for _, r := range truthOf(b) {
		if r.CachedTokens > 16 { // the chat template and the first words of the system are one block at most
			t.Errorf("request %q had %d tokens in the cache", r.RequestID, r.CachedTokens)
		}
	}
}

func TestDeclaredPrefixesAreShared(t *testing.T) {
	b := makeBench(t, sim.Config{Sim: runplan.Sim{PrefillTokensPerS: 1e6, DecodeTokensPerS: 1e5, PrefixCache: true,
		KVTokens: 1 << 20}}, closedLoop(1, 20))
	b.plan.Measurements[0].Data.Prefixes = []runplan.Prefix{{Weight: 1, Count: 1, Tokens: 256}}
	r := b.measure(t)
	for _, row := range r.rows {
		if row.PrefixBucket == nil || *row.PrefixIndex != 0 || *row.TokensIn != 256+64 {
			t.Errorf("row %q: bucket %v, %d tokens in, want prefix and input: 320", row.ID, row.PrefixBucket, *row.TokensIn)
		}
	}
	for i, truth := range truthOf(b) {
		if i == 0 { // nothing that came before the load had the prefix
			if truth.CachedTokens > 16 {
				t.Errorf("the first request found %d tokens in the cache", truth.CachedTokens)
			}
		} else if truth.CachedTokens < 240 {
			t.Errorf("request %q: %d tokens cached of a prefix of 256", truth.RequestID, truth.CachedTokens)
		}
	}
}

func TestTheSameSeedSendsTheSamePrompts(t *testing.T) {
	hashes := func(stage runplan.Stage) []string {
		b := makeBench(t, sim.Config{}, stage)
		var out []string
		for _, row := range b.measure(t).rows {
			out = append(out, row.PromptHash)
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	closed, open := hashes(closedLoop(3, 20)), hashes(
		runplan.Stage{Name: "open", Measure: true, Shape: runplan.ShapeOpen, Rate: 100, Requests: 20})
	if len(closed) != 20 || !slices.Equal(closed, open) {
		t.Errorf("%d and %d distinct prompts, want the same 20 whatever the load", len(closed), len(open))
	}
}

func TestTurnsResendTheHistory(t *testing.T) {
	b := makeBench(t, sim.Config{}, closedLoop(2, 12))
	m := &b.plan.Measurements[0]
	m.Data.Turns, m.Data.Think = 3, seconds(0.02)
	r := b.measure(t)
	turns := map[int]map[int]report.Row{}
	for _, row := range r.rows {
		if turns[row.Session] == nil {
			turns[row.Session] = map[int]report.Row{}
		}
		turns[row.Session][row.Turn] = row
	}
	if len(turns) > 6 || len(r.rows) != 12 {
		t.Errorf("%d conversations in %d requests", len(turns), len(r.rows))
	}
	for session, byTurn := range turns {
		for turn := 1; turn < len(byTurn); turn++ {
			now, before := byTurn[turn], byTurn[turn-1]
			if *now.TokensIn < *before.TokensIn+*before.TokensOut+50 {
				t.Errorf("session %d turn %d: %d tokens in after %d in and %d out", session, turn, *now.TokensIn, *before.TokensIn,
					*before.TokensOut)
			}
			if think := now.TIntended - *before.TEnd; think != 20e6 {
				t.Errorf("session %d turn %d is intended %d ns after the answer, want 20 ms", session, turn, think)
			}
		}
	}
	checkJoin(t, b, r)
}

func TestConversationsEndAStageAndAreReused(t *testing.T) {
	b := makeBench(t, sim.Config{}, runplan.Stage{Name: "a", Measure: true, Shape: runplan.ShapeClosed, Concurrency: 2,
		Duration: seconds(30)},
		runplan.Stage{Name: "b", Measure: true, Shape: runplan.ShapeOpen, Rate: 100, Duration: seconds(30)})
	m := &b.plan.Measurements[0]
	m.Data.Conversations, m.Data.FreshPerStage = 10, false
	r := b.measure(t)
	prompts := map[string]int{}
	for _, row := range r.rows {
		prompts[row.PromptHash]++
	}
	if len(prompts) != 10 || len(r.rows) != 20 {
		t.Errorf("%d distinct prompts in %d rows, want 10 in 20", len(prompts), len(r.rows))
	}
	for _, s := range r.stages {
		if s.Ended != endedExhausted {
			t.Errorf("stage %q ended by %q", s.Planned.Name, s.Ended)
		}
	}
}

func TestConversationsComeAgainInTurn(t *testing.T) {
	b := makeBench(t, sim.Config{}, runplan.Stage{Name: "a", Measure: true, Shape: runplan.ShapeClosed, Concurrency: 2,
		Requests: 25})
	m := &b.plan.Measurements[0]
	m.Data.Conversations, m.Data.Reuse = 10, true
	r := b.measure(t)
	prompts, ids := map[string]int{}, map[string]bool{}
	for _, row := range r.rows {
		prompts[row.PromptHash]++
		ids[row.ID] = true
	}
	if len(prompts) != 10 || len(ids) != 25 {
		t.Errorf("%d distinct prompts and %d ids in %d rows, want 10 and 25 in 25", len(prompts), len(ids), len(r.rows))
	}
}

func TestTrimsCutTheWindow(t *testing.T) {
	tests := []struct {
		name     string
		stage    runplan.Stage
		skipped  int
		from, to float64 // seconds since the start of the stage; 0 is its end
	}{
		{name: "a share of the duration", skipped: 40, from: 0.2, to: 0.8, stage: runplan.Stage{
			Rate: 100, Duration: seconds(1), SkipFirst: runplan.Trim{Share: 0.2}, SkipLast: runplan.Trim{Share: 0.2}}},
		{name: "a time at the start", skipped: 50, from: 0.5, to: 1, stage: runplan.Stage{
			Rate: 100, Duration: seconds(1), SkipFirst: runplan.Trim{Duration: seconds(0.5)}}},
		{name: "requests at both ends", skipped: 15, from: 0.1, to: 0.45, stage: runplan.Stage{
			Rate: 100, Requests: 50, SkipFirst: runplan.Trim{Requests: 10}, SkipLast: runplan.Trim{Requests: 5}}},
		{name: "a share of the requests where only those bound the stage, which ends late if the last is sent late",
			skipped: 5, from: 0.05, stage: runplan.Stage{
				Rate: 100, Requests: 50, SkipFirst: runplan.Trim{Share: 0.1}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.stage.Name, tt.stage.Measure, tt.stage.Shape = "open", true, runplan.ShapeOpen
			b := makeBench(t, sim.Config{}, tt.stage)
			r := b.measure(t)
			skipped := 0
			for _, row := range r.rows {
				if row.Phase == report.PhaseSkipped {
					skipped++
				}
			}
			s := r.stages[0]
			since := func(ns int64) float64 { return float64(ns-s.StartNS) / 1e9 }
			to := tt.to
			if to == 0 {
				to = max(0.5, since(s.EndNS))
			}
			if from, end := since(s.Window.StartNS), since(s.Window.EndNS); skipped != tt.skipped ||
				math.Abs(from-tt.from) > 0.001 || math.Abs(end-to) > 0.001 {
				t.Errorf("%d skipped, window from %.4f to %.4f s, want %d, %.4f and %.4f s", skipped, from, end, tt.skipped,
					tt.from, to)
			}
			if s.Counts.Total != len(r.rows)-skipped || s.Counts.All != len(r.rows) {
				t.Errorf("counts %+v of %d rows", s.Counts, len(r.rows))
			}
		})
	}
}

func TestClosedLoopKeepsTheLoadWhileMeasuredRequestsEnd(t *testing.T) {
	stage := runplan.Stage{Name: "closed", Measure: true, Shape: runplan.ShapeClosed, Concurrency: 4,
		Duration: seconds(0.5), Ramp: seconds(0.1)}
	b := makeBench(t, sim.Config{Sim: runplan.Sim{TTFT: seconds(0.07), ITL: seconds(0.01)}}, stage)
	r := b.measure(t)
	phases := map[string]int{}
	for _, row := range r.rows {
		phases[row.Phase]++
		if row.Status != report.StatusOK {
			t.Errorf("row %q is %s", row.ID, row.Status)
		}
	}
	if phases[report.PhaseMeasured] == 0 || phases[report.PhaseDrain] == 0 {
		t.Errorf("phases %v", phases)
	}
	checkJoin(t, b, r)
}

func TestAZeroDrainCutsWhatIsInFlight(t *testing.T) {
	none := runplan.Duration(0)
	stage := runplan.Stage{Name: "closed", Measure: true, Shape: runplan.ShapeClosed, Concurrency: 4,
		Duration: seconds(0.5), Drain: &none}
	// no answer comes to its end
	b := makeBench(t, sim.Config{Sim: runplan.Sim{TTFT: seconds(0.01), ITL: seconds(3600)}}, stage)
	r := b.measure(t)
	counts := r.stages[0].Counts.ByStatus
	if counts[report.StatusCut] != 4 || r.stages[0].DrainEndNS-r.stages[0].EndNS > int64(generous)/10 {
		// a busy host may be late
		t.Errorf("counts %v, drained for %d ns", counts, r.stages[0].DrainEndNS-r.stages[0].EndNS)
	}
	if rate := r.stages[0].ErrorRate; rate != nil && *rate != 0 {
		t.Errorf("what is cut counts as an error: rate %v", *rate)
	}
}

func TestACapQueuesOrDrops(t *testing.T) {
	stage := runplan.Stage{Name: "open", Measure: true, Shape: runplan.ShapeOpen, Rate: 100, Requests: 40, MaxInflight: 2}
	t.Run("a queue holds requests back and says how long", func(t *testing.T) {
		b := makeBench(t, sim.Config{}, stage)
		r := b.measure(t)
		s := r.stages[0]
		if s.Counts.ByStatus[report.StatusOK] != 40 || s.Metrics["concurrency"].Max > 2 || s.Metrics["queue_wait"].Max < 100 {
			t.Errorf("counts %v, concurrency %v, wait %v", s.Counts, s.Metrics["concurrency"].Max, s.Metrics["queue_wait"].Max)
		}
		if m := s.Metrics; m["ttft_intended"].Max < m["ttft"].Max+90 {
			t.Errorf("ttft %.1f ms, from the intended send %.1f ms: the wait is hidden", m["ttft"].Max, m["ttft_intended"].Max)
		}
		if c := findCheck(s, "wait_before_send_p99_ms"); c == nil || c.OK || !c.Note || c.Value < 100 {
			t.Errorf("the stage does not say that requests waited: %+v", c)
		}
		checkJoin(t, b, r)
	})
	t.Run("what is dropped is an error", func(t *testing.T) {
		stage.OnFull = "drop"
		b := makeBench(t, sim.Config{}, stage)
		r := b.measure(t)
		counts := r.stages[0].Counts.ByStatus
		if counts[report.StatusDropped] == 0 || counts[report.StatusOK]+counts[report.StatusDropped] != 40 ||
			*r.stages[0].ErrorRate == 0 {
			t.Errorf("counts %v, error rate %v", counts, *r.stages[0].ErrorRate)
		}
		checkJoin(t, b, r)
	})
}

func TestASweepFindsItsRates(t *testing.T) {
	// One at a time makes 5 per second at most, eight make 40: a host would have to stand still for long to turn that
	// round.
	b := makeBench(t, sim.Config{Sim: runplan.Sim{TTFT: seconds(0.2)}},
		closedLoop(1, 5),
		runplan.Stage{Name: "throughput", Measure: true, Shape: runplan.ShapeThroughput, MaxInflight: 8,
			Duration: seconds(2)},
		runplan.Stage{Name: "half", Measure: true, Shape: runplan.ShapeOpen, Arrival: "poisson", Duration: seconds(0.3),
			Between: &runplan.Between{Low: 0, High: 1, Fraction: 0.5}})
	r := b.measure(t)
	low, high := r.stages[0].Rates["request_rate"], r.stages[1].Rates["request_rate"]
	if want := (low + high) / 2; math.Abs(r.stages[2].Rate-want) > 1e-9 || high <= low {
		t.Errorf("rates %v and %v, between %v", low, high, r.stages[2].Rate)
	}
	if n := r.stages[1].Metrics["concurrency"].Max; n != 8 {
		t.Errorf("at most %v in flight, want 8", n)
	}
}

func TestAStopRuleOfScopeAllSkipsLaterStages(t *testing.T) {
	first := closedLoop(2, 100)
	first.Stop = []runplan.StopRule{{Kind: "max_errors", Scope: "all", Numbers: map[string]float64{"count": 5}}}
	b := makeBench(t, sim.Config{}, first, closedLoop(1, 5))
	b.engine.Inject(runplan.Fault{Kind: runplan.FaultHTTP500}, b.engine.Now())
	r := b.measure(t)
	if len(r.stages) != 2 || r.stages[0].Ended != "max_errors" || r.stages[1].Ended != endedSkipped || len(r.rows) > 8 {
		t.Errorf("%d rows, stages %+v", len(r.rows), r.stages)
	}
}

func TestABreachSkipsLaterStages(t *testing.T) {
	b := makeBench(t, sim.Config{}, closedLoop(2, 60), closedLoop(1, 5))
	b.plan.SLO = &runplan.SLO{OnBreach: "stop",
		Latency: map[string]map[string]runplan.Duration{"ttft": {"p50": seconds(0.005)}}}
	if r := b.measure(t); r.stages[1].Ended != endedSkipped {
		t.Errorf("the stage after the breach ended by %q", r.stages[1].Ended)
	}
}

func TestGoodputJudgesEachRequest(t *testing.T) {
	b := makeBench(t, sim.Config{}, closedLoop(2, 20))
	b.plan.SLO = &runplan.SLO{Goodput: &runplan.Goodput{Min: 0.9, TTFT: seconds(0.001), TPOT: seconds(10)}}
	r := b.measure(t)
	g := r.stages[0].Goodput
	if g == nil || g.Of != 20 || g.Good != 0 || g.Missed["ttft"] != 20 || r.rows[0].SLOOK == nil || *r.rows[0].SLOOK {
		t.Errorf("goodput %+v, row %v %v", g, r.rows[0].SLOOK, r.rows[0].SLOMissed)
	}
}

func TestSamplesPausesAndScrapes(t *testing.T) {
	warm := closedLoop(2, 4)
	warm.Measure, warm.Name = false, "warm-up"
	b := makeBench(t, sim.Config{}, warm, closedLoop(2, 10))
	b.plan.Measurements[0].Samples, b.plan.Measurements[0].SamplePause = 2, seconds(0.1)
	r := b.measure(t)
	if len(r.stages) != 4 || r.stages[3].Sample != 1 || r.stages[3].Stage != 1 {
		t.Fatalf("%d stages", len(r.stages))
	}
	if gap := r.stages[2].StartNS - r.stages[1].DrainEndNS; gap < 100e6 {
		t.Errorf("%d ns between the samples, want at least 100 ms", gap)
	}
	for _, row := range r.rows {
		if (row.Stage == 0) != (row.Phase == report.PhaseUnmeasured) {
			t.Errorf("row %q of stage %d is %s", row.ID, row.Stage, row.Phase)
		}
	}
	if len(r.load.Scrapes) != 4 {
		t.Fatalf("%d scrapes, want one before and one after each measured stage", len(r.load.Scrapes))
	}
	for _, s := range r.load.Scrapes {
		text, err := os.ReadFile(filepath.Join(report.MeasurementDir(b.runDir, 0), s.File))
		if err != nil || !strings.Contains(string(text), "vllm:") {
			t.Errorf("scrape %+v: %v", s, err)
		}
	}
}

func TestTheFilesAgree(t *testing.T) {
	b := makeBench(t, sim.Config{}, closedLoop(4, 200))
	r := b.measure(t)
	var ttft []float64
	for _, row := range r.rows {
		ttft = append(ttft, float64(*row.TFirst-*row.TSend)/1e6)
	}
	fromRows, _ := report.Summarize("ms", ttft)
	s := r.stages[0].Metrics["ttft"]
	dists, err := report.ReadHistograms(filepath.Join(report.MeasurementDir(b.runDir, 0), contract.FileHistograms))
	if err != nil {
		t.Fatal(err)
	}
	fromFile, _ := dists[report.DistributionKey{Metric: "ttft"}].Metric()
	for _, q := range []string{"p50", "p99"} {
		if math.Abs(s.Quantiles[q]-fromRows.Quantiles[q]) > 1e-9 || math.Abs(s.Quantiles[q]-fromFile.Quantiles[q]) > 1e-9 {
			t.Errorf("%s: stage %v, rows %v, histograms %v", q, s.Quantiles[q], fromRows.Quantiles[q], fromFile.Quantiles[q])
		}
	}
	if !slices.IsSortedFunc(r.rows, func(a, b report.Row) int { return int(a.TIntended - b.TIntended) }) {
		t.Error("rows are not in order of their intended send")
	}
	if _, err := os.Stat(filepath.Join(report.MeasurementDir(b.runDir, 0), spillName)); err == nil {
		t.Error("the spill file is left behind")
	}
	little := s.N
	mean := r.stages[0].Metrics["concurrency"].Mean
	if want := r.stages[0].Rates["request_rate"] * r.stages[0].Metrics["e2e"].Mean / 1000; math.Abs(
		mean-want) > 0.02*want {
		t.Errorf("%d requests: concurrency %v, by Little's law %v", little, mean, want)
	}
}
