package loadgen

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"bflow.dev/bflow/internal/cgroup"
	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/results/checksums"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/loadgen/client"
	"bflow.dev/bflow/tasks/loadgen/loop"
	"bflow.dev/bflow/tasks/loadgen/prompt"
	"bflow.dev/bflow/tasks/loadgen/record"
	"bflow.dev/bflow/tasks/loadgen/search"
	"bflow.dev/bflow/tasks/loadgen/trace"
	"bflow.dev/bflow/tasks/loadgen/wire"
	"bflow.dev/bflow/tasks/step"
)

// measurement is the state of one run of the task.
type measurement struct {
	Options
	step.Streams
	whole *runplan.RunPlan
	plan  *runplan.Measurement
	slo   *runplan.SLO // what it is judged by; nil = nothing
	dir   string

	anchor  time.Time
	server  wire.Server
	loop    *loop.Loop
	line    client.Line
	api     client.API
	probes  prober
	prompts *prompt.Source
	trace   *trace.Trace // nil = none

	files   *record.Files
	summary report.LoadGen
	shown   progress
	sources map[string]int // requests per token count source
	clocks  struct{ kernel, user int }
	invalid string         // the first measured stage that must not be believed, and why
	points  []search.Point // the stages of the sample so far, by index
}

// newMeasurement checks everything that can be checked without a server.
func newMeasurement(o Options, whole *runplan.RunPlan, s step.Streams) (*measurement, error) {
	if o.Measurement >= len(whole.Measurements) {
		return nil, fmt.Errorf("--%s=%d: the plan has %d measurements", contract.ParamMeasurement, o.Measurement,
			len(whole.Measurements))
	}
	secrets := o.Secrets()
	endpoint, err := runplan.FillAddress(o.Endpoint, secrets.Find)
	if err != nil {
		return nil, err
	}
	if whole, err = whole.WithLoad(o.Measurement, secrets.Find); err != nil {
		return nil, err
	}
	plan, slo := &whole.Measurements[o.Measurement], whole.Objectives(o.Measurement)
	if err := check(plan, slo); err != nil {
		return nil, fmt.Errorf("measurement %d (%q): %w", o.Measurement, plan.Name, err)
	}
	m := &measurement{Options: o, Streams: s, whole: whole, plan: plan, slo: slo,
		dir:     report.MeasurementDir(o.RunDir, o.Measurement),
		sources: map[string]int{}, anchor: time.Now()}
	m.probes.m, m.shown.m = m, m
	key, err := step.APIKey(s.Env)
	if err != nil {
		return nil, err
	}
	if m.server, err = wire.ParseServer(endpoint, plan.API); err != nil {
		return nil, err
	}
	spoken := plan.API
	spoken.Path = client.Path(plan.API, whole.Deployment.Model.Name)
	if m.api, err = client.NewAPI(spoken, m.server, key); err != nil {
		return nil, err
	}
	m.api.Hide(secrets.Values()...)
	if m.prompts, err = prompt.NewSource(whole.Deployment.Model.Name, plan); err != nil {
		return nil, err
	}
	return m, nil
}

// connectTimeout bounds one attempt to connect.
func connectTimeout(api runplan.API) time.Duration {
	if d := api.ConnectTimeout; d > 0 {
		return d.D()
	}
	return 5 * time.Second
}

// requestTimeout bounds one request.
func requestTimeout(api runplan.API) time.Duration {
	if api.Timeout > 0 {
		return api.Timeout.D()
	}
	return 10 * time.Minute
}

// tune lets memory grow before the garbage collector runs, because every collection delays stamps, and adds a
// processor of the runtime for the thread that sleeps until the next send; it returns what undoes it.
func tune() (restore func()) {
	percent := debug.SetGCPercent(800)
	procs := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(procs + 1)
	return func() {
		debug.SetGCPercent(percent)
		runtime.GOMAXPROCS(procs)
	}
}

// collectEarly makes the garbage collector run earlier while answers hold much memory, which tune would let pile up to
// nine times as much; it returns what undoes it. What is held beside answers may grow threefold all the same, so that
// a collection stays as seldom as it was.
func collectEarly() (restore func()) {
	runtime.GC()
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	limit := 3*int64(now.HeapAlloc) + 2*client.MaxHeld + 64<<20
	before := debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(before, limit))
	return func() { debug.SetMemoryLimit(before) }
}

// run carries the measurement out. Its error is one of writing; what the server does is in the files.
func (m *measurement) run(ctx context.Context) error {
	if err := keepOld(m.dir, m.whole, m.Options); err != nil {
		return err
	}
	if err := m.open(); err != nil {
		return err
	}
	disconnect, err := m.connect()
	if err != nil {
		return errors.Join(err, m.close())
	}
	defer disconnect()
	if failure := m.prepare(ctx); failure != nil && ctx.Err() == nil {
		m.summary.Error = failure.Error()
		m.say("cannot run: %v", failure)
	}
	var loadErr error
	if m.summary.Error == "" {
		loadErr = m.load(ctx)
	}
	m.summary.Interrupted = ctx.Err() != nil
	if loadErr != nil {
		m.summary.Error = loadErr.Error()
	}
	m.summary.Complete = loadErr == nil && m.summary.Error == "" && !m.summary.Interrupted
	return errors.Join(loadErr, m.close())
}

// open starts the files.
func (m *measurement) open() (err error) {
	keep := runplan.Record{}
	if m.plan.Record != nil {
		keep = *m.plan.Record
	}
	if m.files, err = record.OpenFiles(m.dir, keep, m.api.Scrub); err != nil {
		return err
	}
	if err := durable.Replace(m.file(contract.FileStages), nil); err != nil {
		return err
	}
	m.summary = report.LoadGen{Schema: report.LoadGenSchema, Measurement: m.Measurement, Attempt: m.Attempt,
		Endpoint: m.Endpoint, StartNS: m.anchor.UnixNano(), AnchorMonoNS: monotonic(m.anchor), Version: step.Version,
		MemoryLimit: cgroup.Own().Limit}
	return m.writeSummary()
}

func (m *measurement) file(name string) string { return filepath.Join(m.dir, name) }

func (m *measurement) writeSummary() error {
	m.summary.EndNS = m.anchor.UnixNano() + int64(time.Since(m.anchor))
	return durable.WriteJSON(m.file(contract.FileLoadGen), m.summary)
}

// close finishes the files, each as far as it can be.
func (m *measurement) close() error {
	m.summary.TokenCountSource = record.Source(m.sources)
	errFiles := m.files.Finish(report.Header{PlanHash: m.whole.Hash, Run: m.RunID, Attempt: m.Attempt,
		Measurement:  m.Measurement,
		AnchorUnixNS: m.anchor.UnixNano(), Tool: contract.LoadGen, ToolVersion: m.summary.Version,
		TokenCountSource: m.summary.TokenCountSource, Clock: record.Clock(m.clocks.kernel, m.clocks.user),
		Interrupted: m.summary.Interrupted})
	if err := errors.Join(errFiles, m.shown.finish(), durable.SyncTree(m.dir), m.writeSummary()); err != nil {
		// the summary vouches for the rest
		return err
	}
	return checksums.WriteMeasurement(m.RunDir, m.Measurement)
}

// say prints a line for a person.
func (m *measurement) say(format string, args ...any) {
	fmt.Fprintf(m.Err, "load-gen: "+format+"\n", args...)
}
