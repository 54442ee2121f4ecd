package loadgen

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/sim"
	"bflow.dev/bflow/tasks/loadgen/record"
	"bflow.dev/bflow/tasks/step"
)

func TestAnInterruptionLeavesACompleteMarkedResult(t *testing.T) {
	b := makeBench(t, sim.Config{}, runplan.Stage{Name: "long", Measure: true, Shape: runplan.ShapeClosed, Concurrency: 4,
		Duration: seconds(3600)}, closedLoop(1, 5))
	ctx, interrupt := context.WithCancel(eventually.Context(t))
	b.after(ctx, 20, interrupt)
	if code := b.run(ctx, t); code != contract.ExitInterrupted {
		t.Errorf("exit code %d, want 130", code)
	}
	r := b.results(t)
	if !r.load.Interrupted || r.load.Complete || !r.header.Interrupted {
		t.Errorf("loadgen.json %+v, header %+v", r.load, r.header)
	}
	if len(r.stages) != 1 || !r.stages[0].Interrupted || r.stages[0].Ended != endedInterrupted ||
		r.stages[0].Counts.ByStatus[report.StatusOK] < 20 {
		t.Errorf("stages %+v", r.stages)
	}
	checkJoin(t, b, r)
}

func TestAnInterruptionCancelsWhatDoesNotDrain(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for the five seconds of the drain")
	}
	// no second token comes
	b := makeBench(t, sim.Config{Sim: runplan.Sim{TTFT: seconds(0.01), ITL: seconds(3600)}}, closedLoop(2, 10))
	ctx, interrupt := context.WithCancel(eventually.Context(t))
	go func() {
		// That of the probe, and the first of both requests.
		if eventually.Happens(ctx, func() bool { return b.engine.Stats().Tokens >= 3 }) {
			interrupt()
		}
	}()
	b.run(ctx, t)
	r := b.results(t)
	if drained := r.stages[0].DrainEndNS - r.stages[0].EndNS; drained < int64(drainInterrupted) ||
		drained > int64(generous)/2 {
		t.Errorf("it took %d ns to stop", drained)
	}
	if len(r.rows) != 2 {
		t.Errorf("%d rows, want those of both slots", len(r.rows))
	}
	for _, row := range r.rows {
		if row.Status != report.StatusCancelled || row.TFirst == nil {
			t.Errorf("row %+v", row)
		}
	}
}

func TestALaterAttemptKeepsTheOneBefore(t *testing.T) {
	b := makeBench(t, sim.Config{}, closedLoop(2, 6))
	b.measure(t)
	b.args = []string{"--attempt", "2"}
	r := b.measure(t)
	if r.header.Attempt != 2 || !strings.HasPrefix(r.rows[0].ID, "r-2-m0-") {
		t.Errorf("header %+v, first row %q", r.header, r.rows[0].ID)
	}
	h, rows, err := report.ReadRows(filepath.Join(report.MeasurementDir(b.runDir, 0), "attempt-1", contract.FileRequests))
	if err != nil || h.Attempt != 1 || len(rows) != 6 {
		t.Errorf("attempt 1: header %+v, %d rows: %v", h, len(rows), err)
	}
}

func TestRowsOfAKilledAttemptAreKept(t *testing.T) {
	b := makeBench(t, sim.Config{}, closedLoop(2, 6), closedLoop(2, 6))
	dir := report.MeasurementDir(b.runDir, 0)
	// What a process leaves behind that is killed in its second stage.
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(dir, 0o755))
	rows, err := report.CreateRows(filepath.Join(dir, contract.FileRequests))
	must(err)
	must(rows.Write(&report.Row{ID: "first"}))
	must(rows.Flush())
	must(report.AppendStage(filepath.Join(dir, contract.FileStages), &report.StageResult{Stage: 0}))
	must(durable.WriteJSON(filepath.Join(dir, contract.FileLoadGen), report.LoadGen{Attempt: 1, StartNS: 77}))
	spill, err := record.CreateSpill(filepath.Join(dir, spillName), "r-1-m0-r0-s1")
	must(err)
	o := new(record.Outcome)
	o.Reset()
	o.Status = report.StatusOK
	spill.Add(o)
	spill.Sync()
	spill.Close()

	b.args = []string{"--attempt", "2"}
	if r := b.measure(t); len(r.rows) != 12 || !r.load.Complete {
		t.Errorf("%d rows, %+v: the measurement did not start again whole", len(r.rows), r.load)
	}
	h, kept, err := report.ReadRows(filepath.Join(dir, "attempt-1", contract.FileRequests))
	must(err)
	if len(kept) != 2 || kept[0].ID != "first" || kept[1].ID != "r-1-m0-r0-s1-0-0" || kept[1].Stage != 1 ||
		!h.Interrupted || h.AnchorUnixNS != 77 {
		t.Errorf("header %+v, rows %+v", h, kept)
	}
}

func TestAnUnreachableServerIsDataAndNoCrash(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + ln.Addr().String()
	ln.Close()
	b := makeBench(t, sim.Config{}, closedLoop(2, 6))
	b.args = []string{"--endpoint", nobody}
	r := b.measure(t)
	if r.load.Complete || !strings.Contains(r.load.Error, "connection refused") || len(r.rows) != 0 {
		t.Errorf("loadgen.json %+v", r.load)
	}
}

func TestAServerThatDiesMidLoadIsInTheRows(t *testing.T) {
	b := makeBench(t, sim.Config{}, runplan.Stage{Name: "closed", Measure: true, Shape: runplan.ShapeClosed,
		Concurrency: 2, Duration: seconds(2)})
	b.after(t.Context(), 4, func() { b.engine.Close() })
	r := b.measure(t)
	classes := r.stages[0].Counts.ByClass
	if classes[report.ErrDial] == 0 || classes[report.ErrDial] > 40 || r.stages[0].Ended != endedDuration {
		t.Errorf("classes %v, ended by %q", classes, r.stages[0].Ended)
	}
}

func TestAnUnwritableFolderIsAClearError(t *testing.T) {
	b := makeBench(t, sim.Config{}, closedLoop(2, 6))
	if err := os.WriteFile(filepath.Join(b.runDir, contract.DirMeasurement), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if code := b.run(context.Background(), t); code != contract.ExitFail ||
		!strings.Contains(b.stderr.String(), "making the folder of measurement 0") {
		t.Errorf("exit code %d: %s", code, b.stderr.String())
	}
}

func TestTheKeyIsSentAndNeverShown(t *testing.T) {
	const key = "sk-very-secret"
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, env := range map[string]map[string]string{"from the environment": {step.EnvAPIKey: key},
		"from a file": {step.EnvAPIKeyFile: file}} {
		t.Run(name, func(t *testing.T) {
			b := makeBench(t, sim.Config{APIKey: key}, closedLoop(2, 6))
			b.env = env
			if r := b.measure(t); r.stages[0].Counts.ByStatus[report.StatusOK] != 6 {
				t.Errorf("counts %+v", r.stages[0].Counts)
			}
			filepath.WalkDir(b.runDir, func(path string, d os.DirEntry, err error) error {
				if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), key) {
					t.Errorf("%s holds the key", path)
				}
				return nil
			})
			if strings.Contains(b.stderr.String(), key) {
				t.Error("the key was printed")
			}
		})
	}
}

func TestWhatCannotBeCarriedOutIsRefusedBeforeAnyLoad(t *testing.T) {
	tests := []struct {
		name   string
		change func(b *bench)
		want   string
	}{
		{name: "a measurement that the plan does not have",
			change: func(b *bench) { b.args = []string{"--measurement", "3"} }, want: "the plan has 1 measurements"},
		{name: "an unknown flag", change: func(b *bench) { b.args = []string{"--rate", "3"} },
			want: "flag provided but not defined"},
		{name: "an endpoint without a scheme", change: func(b *bench) { b.args = []string{"--endpoint", "localhost:8000"} },
			want: "want http://"},
		{name: "a stage without an end", change: func(b *bench) { b.plan.Measurements[0].Stages[0].Requests = 0 },
			want: "it never ends"},
		{name: "requests that nobody can put", change: func(b *bench) {
			b.plan.Measurements[0].Stages[0].Requests = 1 << 52 // the largest number that a plan can hold has one bit more
		}, want: "stages[0].requests is 4503599627370496, want at most 2147483647"},
		{name: "a prompt that nobody can make", change: func(b *bench) {
			b.plan.Measurements[0].Data.Input = &runplan.Length{Shape: "fixed", Mean: 1 << 52}
		}, want: "data.input.mean is 4503599627370496, want at most 10000000"},
		{name: "a trace schedule without a trace", change: func(b *bench) {
			b.plan.Measurements[0].Stages[0].Shape = runplan.ShapeTrace
		}, want: "schedule: trace needs load.data.trace"},
		{name: "a search without objectives", change: func(b *bench) {
			b.plan.Measurements[0].Search = &runplan.Search{Goodput: 0.9, Low: 1, High: 2}
		}, want: "load.search needs slo.goodput"},
		{name: "a shard that there is not", change: func(b *bench) { b.args = []string{"--shard", "2/2"} }, want: "want K/N"},
		{name: "an unknown word for invalid", change: func(b *bench) { b.args = []string{"--on-invalid", "ignore"} },
			want: "want mark, fail or retry"},
		{name: "an API that is not spoken", change: func(b *bench) { b.plan.Measurements[0].API.Type = "kserve" },
			want: `load.api.type "kserve"`},
		{name: "an unknown arrival", change: func(b *bench) {
			b.plan.Measurements[0].Stages[0] = runplan.Stage{Shape: runplan.ShapeOpen, Rate: 1, Requests: 1, Arrival: "weibull"}
		}, want: `arrival "weibull"`},
		{name: "a header that belongs to the generator", change: func(b *bench) {
			b.plan.Measurements[0].API.Headers = map[string]string{"X-Request-ID": "1"}
		}, want: "belongs to the generator"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := makeBench(t, sim.Config{}, closedLoop(2, 6))
			tt.change(b)
			if code := b.run(context.Background(), t); code != contract.ExitUsage ||
				!strings.Contains(b.stderr.String(), tt.want) {
				t.Errorf("exit code %d, want 2 and %q", code, tt.want)
			}
			if n := len(b.engine.Truth()); n > 0 {
				t.Errorf("%d requests were sent", n)
			}
		})
	}
}

// TestTheFirstStageIsKnownBeforeItsFirstRequest: whoever is killed in its first second was in it.
func TestTheFirstStageIsKnownBeforeItsFirstRequest(t *testing.T) {
	b := makeBench(t, sim.Config{}, openLoop(50, 0.9))
	b.plan.Measurements[0].Stages[0].Name = "load"
	over := make(chan struct{})
	go func() {
		defer close(over)
		b.measure(t)
	}()
	const before = 9 // more than are sent to prepare the load
	eventually.True(t, "answers to the load", func() bool { return len(b.engine.Truth()) > before })
	var p report.Progress
	err := step.ReadJSON(filepath.Join(report.MeasurementDir(b.runDir, 0), report.FileProgress), &p)
	<-over
	if err != nil || p.Name != "load" || p.Stages != 1 || p.ElapsedS > 0.9 {
		t.Errorf("progress %+v, %v", p, err)
	}
}

func TestProgressAndEventsAreWritten(t *testing.T) {
	b := makeBench(t, sim.Config{}, openLoop(20, 1.2))
	b.measure(t)
	var p report.Progress
	if err := step.ReadJSON(filepath.Join(report.MeasurementDir(b.runDir, 0), report.FileProgress), &p); err != nil {
		t.Fatal(err)
	}
	if p.Sent != 24 || p.Done != 24 || p.Stages != 1 || p.ExpectedS != 1.2 || !p.Finished {
		t.Errorf("progress %+v", p)
	}
	events, err := os.ReadFile(filepath.Join(b.runDir, contract.FileEvents))
	if err != nil || strings.Count(string(events), "stage_started") != 1 ||
		strings.Count(string(events), "stage_ended") != 1 {
		t.Errorf("events %s: %v", events, err)
	}
}
