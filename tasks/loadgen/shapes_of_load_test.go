package loadgen

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bflow.dev/bflow/internal/quiet"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/sim"
	"bflow.dev/bflow/tasks/loadgen/search"
	"bflow.dev/bflow/tasks/step"
)

// recorded writes a trace of 40 sessions of two turns, one session every 20 ms, the second turn 50 ms after the first.
func recorded(t *testing.T) string {
	t.Helper()
	var lines []string
	for s := range 40 {
		lines = append(lines,
			fmt.Sprintf(`{"timestamp": %d, "input_length": %d, "output_length": 4, "hash_ids": [%d], "session_id": "s%d"}`, 20*s,
				100+s, s%4, s))
		lines = append(lines,
			fmt.Sprintf(`{"timestamp": %d, "input_length": %d, "output_length": 6, "hash_ids": [%d], "session_id": "s%d"}`,
				20*s+50, 200+s, s%4, s))
	}
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func replay(t *testing.T, b *bench, trace string) {
	t.Helper()
	m := &b.plan.Measurements[0]
	m.Stages = []runplan.Stage{{Name: "trace", Measure: true, Shape: runplan.ShapeTrace}}
	m.Data = runplan.Data{Seed: 42, Turns: 2, Trace: &runplan.Trace{Format: runplan.TraceMooncake, URL: trace,
		TimeScale: 1}}
}

func TestATraceIsSentAtItsTimesWithItsLengths(t *testing.T) {
	b := makeBench(t, sim.Config{})
	replay(t, b, recorded(t))
	r := b.measure(t)
	if len(r.rows) != 80 || r.stages[0].Counts.ByStatus[report.StatusOK] != 80 {
		t.Fatalf("%d rows, %+v", len(r.rows), r.stages[0].Counts)
	}
	for _, row := range r.rows {
		at := int64(20*row.Session+50*row.Turn) * 1e6
		if got := row.TIntended - r.rows[0].TIntended; got < at || row.Turn == 0 && got != at {
			t.Errorf("row %q is intended at %d ms, want %d", row.ID, got/1e6, at/1e6)
		}
		if want := 100 + 100*row.Turn + row.Session; *row.TokensIn != want || *row.TokensOut != 4+2*row.Turn {
			t.Errorf("row %q: %d in and %d out, want %d and %d", row.ID, *row.TokensIn, *row.TokensOut, want, 4+2*row.Turn)
		}
	}
}

// shards runs the bench as so many processes would and returns all rows, which it gives no order.
func shards(t *testing.T, n int, prepare func(b *bench)) []report.Row {
	t.Helper()
	var rows []report.Row
	for k := range n {
		b := makeBench(t, sim.Config{})
		prepare(b)
		b.args = append(b.args, "--shard", fmt.Sprintf("%d/%d", k, n))
		rows = append(rows, b.measure(t).rows...)
	}
	return rows
}

// what is sent of a row, whoever sent it.
func what(rows []report.Row) []string {
	var out []string
	for _, r := range rows {
		out = append(out, fmt.Sprintf("%s %s %v %v", r.ID, r.PromptHash, *r.TokensInAsked, *r.TokensOutAsked))
	}
	slices.Sort(out)
	return out
}

func TestShardsSendTogetherWhatOneProcessSends(t *testing.T) {
	trace := recorded(t)
	loads := map[string]func(b *bench){
		"an open loop": func(b *bench) {
			b.plan.Measurements[0].Stages = []runplan.Stage{{Name: "o", Measure: true, Shape: runplan.ShapeOpen,
				Arrival: "poisson", Rate: 200, Requests: 50}}
		},
		"a closed loop": func(b *bench) { b.plan.Measurements[0].Stages = []runplan.Stage{closedLoop(6, 60)} },
		"a trace": func(b *bench) {
			replay(t, b, trace)
			b.plan.Measurements[0].Data.Turns = 1
		},
	}
	for name, load := range loads {
		t.Run(name, func(t *testing.T) {
			whole := what(shards(t, 1, load))
			if diff := cmp.Diff(whole, what(shards(t, 3, load))); diff != "" {
				t.Errorf("(-one process, +three shards):\n%s", diff)
			}
		})
	}
}

// TestASearchFindsWhatTheServerHolds needs a quiet host: on a busy one load-gen does not believe what it has measured.
func TestASearchFindsWhatTheServerHolds(t *testing.T) {
	quiet.Run(t, 0.01, searchFour)
}

func searchFour(t testing.TB) {
	// Four requests at a time, 40 ms each: 100 per second, above which they queue.
	b := makeBench(t, sim.Config{Sim: runplan.Sim{TTFT: seconds(0.04), MaxNumSeqs: 4}})
	m := &b.plan.Measurements[0]
	m.Data.Output.Mean = 1
	m.Search = &runplan.Search{Goodput: 0.9, Low: 25, High: 800, Tolerance: 0.2,
		Level: &runplan.Stage{Arrival: "constant", Duration: seconds(1), SkipFirst: runplan.Trim{Duration: seconds(0.2)}}}
	b.plan.SLO = &runplan.SLO{Goodput: &runplan.Goodput{Min: 0.9, TTFT: seconds(0.06)}}
	b.plan.Execution.OnInvalid = runplan.InvalidRetry
	r := b.measure(t)
	var found search.Result
	if err := step.ReadJSON(filepath.Join(report.MeasurementDir(b.runDir, 0), report.FileSearch), &found); err != nil {
		t.Fatal(err)
	}
	if found.Value == nil || *found.Value < 60 || *found.Value > 130 || found.Ended != search.EndedFound {
		t.Errorf("found %+v", found)
	}
	if len(r.stages) != len(found.Trials) || !strings.Contains(strings.Join(r.load.Notes, "\n"), "search: ") {
		t.Errorf("%d stages for %d trials, notes %q", len(r.stages), len(found.Trials), r.load.Notes)
	}
}

func TestExtraPointsLieNearTheKnee(t *testing.T) {
	b := makeBench(t, sim.Config{Sim: runplan.Sim{TTFT: seconds(0.04), MaxNumSeqs: 4}},
		openLoop(50, 3), openLoop(300, 1),
		runplan.Stage{Name: "knee", Measure: true, Shape: runplan.ShapeOpen, Duration: seconds(0.3),
			Between: &runplan.Between{Low: 0, High: 1, Fraction: 0.5, Knee: true}})
	b.plan.Measurements[0].Data.Output.Mean = 1
	r := b.measure(t)
	kept := []bool{keptUp(t, r, 0), keptUp(t, r, 1)}
	switch {
	case kept[1]:
		t.Errorf("a server of 100 requests per second kept up with 300: %+v", r.stages[1].Rates)
	case kept[0] && math.Abs(r.stages[2].Rate-175) > 1:
		t.Errorf("rate %v, want the middle of the last stage that kept up and the next, stages %+v %+v", r.stages[2].Rate,
			r.stages[0].Rates, r.stages[1].Rates)
	case !kept[0] && (r.stages[2].Ended != endedSkipped ||
		!strings.Contains(strings.Join(r.load.Notes, "\n"), "none of them kept up")):
		t.Errorf("on a busy host neither kept up, and the stage between them ended by %q, notes %q", r.stages[2].Ended,
			r.load.Notes)
	}
}

// keptUp counts the answers that came within the window of a stage: were they 95 % of those due?
func keptUp(t *testing.T, r results, stage int) bool {
	t.Helper()
	s := r.stages[stage]
	came := 0
	for _, row := range r.rows {
		if end := r.header.AnchorUnixNS; row.Stage == stage && row.Status == report.StatusOK &&
			end+*row.TEnd >= s.Window.StartNS && end+*row.TEnd < s.Window.EndNS {
			came++
		}
	}
	rate := float64(came) / (float64(s.Window.EndNS-s.Window.StartNS) / 1e9)
	if math.Abs(rate-s.Rates["request_rate"]) > 1e-6*rate {
		t.Errorf("stage %d: %v requests per second, by its rows %v", stage, s.Rates["request_rate"], rate)
	}
	return rate >= 0.95*s.Rate
}

func TestAnInvalidStageIsMeasuredAgain(t *testing.T) {
	b := makeBench(t, sim.Config{}, closedLoop(2, 10))
	b.plan.Measurements[0].API.ExactOutput = true
	b.engine.Inject(runplan.Fault{Kind: runplan.FaultShortOutput}, b.engine.Now())
	b.args = []string{"--on-invalid", "retry"}
	if code := b.run(t.Context(), t); code != contract.ExitInvalid {
		t.Errorf("exit code %d, want 4: every try is invalid", code)
	}
	r := b.results(t)
	tries, err := report.ReadStages(filepath.Join(report.MeasurementDir(b.runDir, 0), report.FileRetried))
	if err != nil || len(tries) != runplan.MaxTries-1 || len(r.stages) != 1 {
		t.Fatalf("%d tries, %d stages, %v", len(tries), len(r.stages), err)
	}
	phases, prompts := map[string]int{}, map[string]bool{}
	for _, row := range r.rows {
		phases[row.Phase]++
		prompts[row.PromptHash] = true
	}
	if phases[report.PhaseUnmeasured] != 10*(runplan.MaxTries-1) || phases[report.PhaseMeasured] != 10 ||
		len(prompts) != 10*runplan.MaxTries {
		t.Errorf("phases %v, %d prompts", phases, len(prompts))
	}
}

func TestClientsThatGoAwayAreNoErrors(t *testing.T) {
	// An answer takes long enough that no busy host lets it overtake its cancellation.
	b := makeBench(t, sim.Config{Sim: runplan.Sim{TTFT: seconds(1), ITL: seconds(0.01)}}, closedLoop(67, 200))
	b.plan.Measurements[0].API.Cancel = &runplan.Cancel{Share: 0.3, After: seconds(0.02)}
	r := b.measure(t)
	counts := r.stages[0].Counts.ByStatus
	if n := counts[report.StatusCancelled]; n < 40 || n > 80 || counts[report.StatusOK]+n != 200 ||
		*r.stages[0].ErrorRate != 0 {
		t.Errorf("counts %v, error rate %v, want about 60 of 200 cancelled", counts, *r.stages[0].ErrorRate)
	}
}

func TestARetriedRequestIsChargedForAllItsAttempts(t *testing.T) {
	b := makeBench(t, sim.Config{}, closedLoop(1, 3))
	b.plan.Measurements[0].API.Retry = &runplan.Retry{Attempts: 3, Backoff: seconds(0.05)}
	b.engine.Inject(runplan.Fault{Kind: runplan.FaultHTTP500}, b.engine.Now())
	r := b.measure(t)
	for _, row := range r.rows {
		if row.Retries != 3 || row.Status != report.StatusFailed || *row.TEnd-row.TIntended < 350e6 {
			t.Errorf("row %+v, want 3 repetitions with 50, 100 and 200 ms before them", row)
		}
	}
}

func TestWhatThePlanWantsKeptIsKept(t *testing.T) {
	b := makeBench(t, sim.Config{}, closedLoop(2, 20))
	b.plan.Measurements[0].Record = &runplan.Record{Gaps: true, Texts: 3, Slice: seconds(0.05), Parquet: true}
	b.plan.Measurements[0].API.Headers = map[string]string{"X-Api-Key": "s3cret-value"}
	b.plan.Measurements[0].API.Body = map[string]any{"user": "s3cret-value"}
	r := b.measure(t)
	dir := report.MeasurementDir(b.runDir, 0)
	for _, row := range r.rows {
		if len(row.Gaps) != *row.Events-1 {
			t.Errorf("row %q has %d gaps of %d events", row.ID, len(row.Gaps), *row.Events)
		}
	}
	texts, err := os.ReadFile(filepath.Join(dir, "texts.jsonl"))
	if err != nil || strings.Count(string(texts), "\n") != 3 || !strings.Contains(string(texts), `"messages"`) ||
		strings.Contains(string(texts), "s3cret") {
		t.Errorf("texts %s, %v", texts, err)
	}
	for _, name := range []string{"slices.jsonl", "requests.parquet"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
