package loadgen

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/sim"
	"bflow.dev/bflow/tasks/step"
)

// bench is one measurement against a simulated engine.
type bench struct {
	plan     runplan.RunPlan
	engine   *sim.Server
	endpoint string
	runDir   string
	stderr   bytes.Buffer
	env      map[string]string
	args     []string
}

// generous is the timeout of a request that is not to meet it, however busy the host is.
const generous = runplan.Duration(eventually.Limit)

func seconds(s float64) runplan.Duration { return runplan.Duration(s * float64(time.Second)) }

// makeBench starts an engine that answers in 20 ms with a token every 2 ms.
func makeBench(t testing.TB, cfg sim.Config, stages ...runplan.Stage) *bench {
	t.Helper()
	if cfg.TTFT == 0 && cfg.PrefillTokensPerS == 0 {
		cfg.TTFT, cfg.ITL = seconds(0.02), seconds(0.002)
	}
	engine, err := sim.Listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	b := newBench(t.TempDir(), stages...)
	b.engine, b.endpoint = engine, engine.URL()
	return b
}

// newBench is a measurement of chat requests of 64 tokens that are answered with 8.
func newBench(runDir string, stages ...runplan.Stage) *bench {
	return &bench{
		runDir: runDir, env: map[string]string{},
		plan: runplan.RunPlan{
			APIVersion: runplan.APIVersion, Kind: runplan.Kind, Name: "test",
			Deployment: runplan.Deployment{Model: runplan.Model{Name: "sim"},
				Engine: runplan.Engine{Kind: "sim", MetricsPath: "/metrics"}},
			Measurements: []runplan.Measurement{{
				Name: "load", Runner: "native", Samples: 1, Stages: stages,
				API: runplan.API{Type: "chat", Path: "/v1/chat/completions", Stream: true, Timeout: generous,
					ConnectTimeout: generous, ExactOutput: true},
				Data: runplan.Data{
					Input:  &runplan.Length{Shape: "fixed", Mean: 64},
					Output: &runplan.Length{Shape: "fixed", Mean: 8},
					Turns:  1, FreshPerStage: true, Seed: 42,
				},
			}},
		},
	}
}

// closedLoop is a measured stage of so many requests.
func closedLoop(slots, requests int) runplan.Stage {
	return runplan.Stage{Name: "closed", Measure: true, Shape: runplan.ShapeClosed, Concurrency: slots, Requests: requests}
}

// openLoop is a measured stage at a rate.
func openLoop(rate float64, length float64) runplan.Stage {
	return runplan.Stage{Name: "open", Measure: true, Shape: runplan.ShapeOpen, Rate: rate, Duration: seconds(length)}
}

func (b *bench) planDir() string { return filepath.Join(b.runDir, "plan") }

// write writes the plan.
func (b *bench) write() error {
	if err := runplan.Identify(&b.plan); err != nil {
		return err
	}
	return durable.WriteJSON(filepath.Join(b.planDir(), runplan.FileJSON), b.plan)
}

// execute carries the measurement out and returns the exit code.
func (b *bench) execute(ctx context.Context) int {
	args := append([]string{"--plan-dir", b.planDir(), "--run-dir", b.runDir, "--run-id", "r", "--endpoint", b.endpoint},
		b.args...)
	env := func(name string) string { return b.env[name] }
	return step.Run(ctx, contract.LoadGen, Run, step.Streams{Out: &b.stderr, Err: &b.stderr, Env: env}, args)
}

// run writes the plan and carries it out.
func (b *bench) run(ctx context.Context, t testing.TB) int {
	t.Helper()
	if err := b.write(); err != nil {
		t.Fatal(err)
	}
	code := b.execute(ctx)
	t.Logf("exit %d\n%s", code, b.stderr.String())
	return code
}

// results reads what a run left behind.
type results struct {
	header report.Header
	rows   []report.Row
	stages []report.StageResult
	load   report.LoadGen
}

func (b *bench) results(t testing.TB) results {
	t.Helper()
	var (
		r   results
		err error
	)
	dir := report.MeasurementDir(b.runDir, 0)
	if r.header, r.rows, err = report.ReadRows(filepath.Join(dir, contract.FileRequests)); err != nil {
		t.Fatal(err)
	}
	if r.stages, err = report.ReadStages(filepath.Join(dir, contract.FileStages)); err != nil {
		t.Fatal(err)
	}
	if err := step.ReadJSON(filepath.Join(dir, contract.FileLoadGen), &r.load); err != nil {
		t.Fatal(err)
	}
	return r
}

// measure runs the bench to its end, exit code 0, and returns the results.
func (b *bench) measure(t testing.TB) results {
	t.Helper()
	if code := b.run(eventually.Context(t), t); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	return b.results(t)
}

// after calls f once n requests of the stages are over; it gives up with ctx.
func (b *bench) after(ctx context.Context, n int, f func()) {
	go func() {
		if eventually.Happens(ctx, func() bool { return len(truthOf(b)) >= n }) {
			f()
		}
	}()
}

// truthFor returns what the engine knows of the requests of the stages, once it has written down each that a row calls
// ok: it does so when the client may have read the answer already.
func (b *bench) truthFor(t testing.TB, r results) []sim.Record {
	t.Helper()
	var all []sim.Record
	eventually.Nil(t, "the engine has written down every request that is ok", func() error {
		all = truthOf(b)
		known := map[string]bool{}
		for _, truth := range all {
			known[truth.RequestID] = true
		}
		for _, row := range r.rows {
			if row.Status == report.StatusOK && !known[row.ID] {
				return fmt.Errorf("%q is not among %d", row.ID, len(all))
			}
		}
		return nil
	})
	return all
}
