package external

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/registry"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// Task is a measurement to carry out by the tool that its plan names.
type Task struct {
	Plan        *runplan.RunPlan
	Measurement int    // index into Plan.Measurements
	RunDir      string // its folder measurements/<n> exists, without files of an earlier attempt
	RunID       string
	Attempt     int
	Endpoint    string                   // base URL of the server under test
	Env         func(name string) string // of this process
	Environ     []string                 // the same as a list; nil = os.Environ()
	Secrets     []string                 // in Plan, beside the key: they are taken out of what the tool writes
	Err         io.Writer                // lines for a person

	Program string       // of the tool; "" = Find
	Reader  tools.Reader // of its results; nil = the one for the tool
	Holder  []string     // command that reaches Hold; nil = load-gen beside this program, else bflow
}

// Run carries the measurement out and writes rows, stages, distributions and loadgen.json. As with a native measurement
// its error is one of writing or of an interruption: what the tool and the server do is in the files.
func Run(ctx context.Context, t Task) error {
	r, err := newRun(t)
	if err != nil {
		return err
	}
	if err := r.write(); err != nil { // whoever looks sees that it began
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.deadline(), errDeadline)
	defer cancel()
	failure := r.samples(ctx)
	r.summary.Interrupted = ctx.Err() != nil && !errors.Is(context.Cause(ctx), errDeadline)
	if failure != nil && !r.summary.Interrupted {
		r.summary.Error = failure.Error()
		r.say("cannot run: %v", failure)
	}
	r.summary.Complete = failure == nil
	return r.finish()
}

// Interrupted reports whether the summary that Run has left in dir is of a run that was interrupted.
func Interrupted(dir string) bool {
	var s report.LoadGen
	return step.ReadJSON(filepath.Join(dir, contract.FileLoadGen), &s) == nil && s.Interrupted
}

// errDeadline is the cause of the end of a tool that took too long.
var errDeadline = errors.New("it took longer than the plan gives it")

// run is a Task on its way.
type run struct {
	Task
	plan    *runplan.Measurement
	tool    tool.Tool // that makes the load
	dir     string    // measurements/<n>
	summary report.LoadGen
	results []*tools.Imported // by sample
	log     *os.File
}

func newRun(t Task) (*run, error) {
	if t.Environ == nil {
		t.Environ = os.Environ()
	}
	dir, err := filepath.Abs(report.MeasurementDir(t.RunDir, t.Measurement))
	if err != nil {
		return nil, fmt.Errorf("finding the folder of the measurement: %w", err)
	}
	if err := durable.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("making the folder of the measurement: %w", err)
	}
	r := &run{Task: t, plan: &t.Plan.Measurements[t.Measurement], dir: dir}
	r.summary = report.LoadGen{Schema: report.LoadGenSchema, Measurement: t.Measurement, Attempt: t.Attempt,
		Endpoint: t.Endpoint,
		StartNS:  time.Now().UnixNano(), Version: step.Version}
	if r.log, err = durable.AppendGrowing(filepath.Join(dir, LogFile)); err != nil {
		return nil, fmt.Errorf("opening the log of the tool: %w", err)
	}
	return r, nil
}

// samples runs the tool once per sample. Its error says in one sentence why there is no or no whole result.
func (r *run) samples(ctx context.Context) error {
	if err := r.locate(); err != nil {
		return err
	}
	for sample := range max(1, r.plan.Samples) {
		if sample > 0 && !pause(ctx, r.plan.SamplePause.D()) {
			return context.Cause(ctx)
		}
		if err := r.sample(ctx, sample); err != nil {
			return fmt.Errorf("running %s: %w", r.plan.Tool, err)
		}
	}
	return nil
}

// locate finds what the caller has not named.
func (r *run) locate() (err error) {
	if r.Program == "" {
		if r.Program, err = Find(r.plan.Tool, r.plan.Venv, r.Env); err != nil {
			return err
		}
	}
	if r.Holder == nil {
		if r.Holder, err = holder(r.Env); err != nil {
			return err
		}
	}
	if r.tool, err = runnable(registry.All(), r.plan.Tool); err == nil && r.Reader == nil {
		r.Reader = r.tool.Results().Read
	}
	return err
}

// sample runs the commands of one sample and reads what they left. A tool that fails may leave results all the same:
// they count, and the failure is a note.
func (r *run) sample(ctx context.Context, sample int) error {
	p := tool.Invocation{Measurement: r.plan, Model: r.Plan.Deployment.Model.Name, Endpoint: r.Endpoint,
		Program: r.Program}
	var err error
	if p.Key, err = step.APIKey(r.Env); err != nil {
		return err
	}
	var failed error
	for _, warm := range []bool{true, false} {
		p.Dir = filepath.Join(r.dir, "external", fmt.Sprint(sample))
		if warm {
			p.Dir += "-warm-up"
		}
		commands, err := Build(p)
		if err != nil {
			return err
		}
		for _, c := range commands {
			if c.WarmUp == warm {
				r.say("sample %d: %s", sample, filepath.Base(c.Argv[0]))
				failed = r.command(ctx, c, p)
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	imported, err := r.read(ctx, p.Dir)
	if err != nil {
		return cmp.Or(failed, err)
	}
	if failed != nil {
		r.note("sample %d: %s failed after it had left results: %v", sample, r.plan.Tool, failed)
	}
	r.results = append(r.results, imported)
	return nil
}

func (r *run) command(ctx context.Context, c tool.Command, p tool.Invocation) error {
	env := environ(r.Environ, r.Env, r.plan.Env)
	if r.Plan.Deployment.Endpoint == nil {
		env = straight(env, r.Endpoint)
	}
	proc := process{Command: c, dir: p.Dir, log: r.log, env: env, holder: r.Holder,
		secrets: append([]string{p.Key}, r.Secrets...)}
	return proc.run(ctx)
}

// read reads the results of one sample, also of one that was interrupted.
func (r *run) read(ctx context.Context, dir string) (*tools.Imported, error) {
	ctx = context.WithoutCancel(ctx)
	docs, err := documents(ctx, r.plan.Tool, dir, r.tool.External().Program().Results, r.tool.Results().Long)
	if err != nil {
		return nil, err
	}
	in, err := r.Reader(ctx, docs)
	if err != nil {
		return nil, err
	}
	if in.Version == "" {
		in.Version = installedVersion(r.tool.External().Program().Distribution, r.Program)
	}
	toWall(ctx, r.tool.External(), docs, in)
	return in, nil
}

// Parts of the deadline that a plan does not say.
const (
	startAllowance = 5 * time.Minute // interpreters, tokenizers and data sets are slow to start
	unbounded      = 6 * time.Hour   // of a load that nothing bounds in time
)

// deadline is when the tool is ended: before the limit of the task, where the plan has one, else at twice the expected
// length of the load.
func (r *run) deadline() time.Duration {
	if limit := r.Plan.Timeouts.Task[fmt.Sprintf("%s-%d", contract.LoadGen, r.Measurement)].D(); limit > 0 {
		return max(limit-time.Minute, limit/2)
	}
	load := time.Duration(0)
	for _, s := range r.plan.Stages {
		if s.Duration == 0 {
			return unbounded
		}
		load += s.Duration.D() + s.PauseAfter.D()
	}
	return time.Duration(max(1, r.plan.Samples)) * (2*load + r.plan.SamplePause.D() + startAllowance)
}

// pause waits; false when ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

func (r *run) say(format string, args ...any) {
	fmt.Fprintf(r.Err, "load-gen: "+format+"\n", args...)
}

func (r *run) note(format string, args ...any) {
	r.summary.Notes = append(r.summary.Notes, fmt.Sprintf(format, args...))
}
