package remotetask

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/results/transfer"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/provision/cluster"
	"bflow.dev/bflow/tasks/step"
)

const (
	lookEvery = 5 * time.Second  // at the files that are followed
	startTime = 10 * time.Minute // until the pod runs, its images pulled; outages come on top
	rescue    = 20 * time.Second // for the files of a pod that is being deleted, which its results server waits for
	cancelled = 25 * time.Second // for all that is to be done after a signal: a step is killed after 30 s
	lastWords = 8 * time.Second  // for a task that was told to end
	dropTime  = 2 * time.Minute  // for a pod to be gone
)

// launcher carries one task out.
type launcher struct {
	Options
	step.Streams
	plan  *runplan.RunPlan
	c     *cluster.Cluster
	run   cluster.Run
	work  cluster.Work
	goOn  func(context.Context) (bool, error) // whether the step is still wanted after a signal
	every time.Duration                       // between two looks at files
	*patience

	key   string
	token string
	send  []string // files that the task needs
	news  events

	attended *attendance // nil before the Job is launched
}

// pod is the name of the pod of the Job, also when that is gone; "" where there was none.
func (l *launcher) pod() string {
	if l.attended == nil {
		return ""
	}
	return l.attended.podName()
}

// Run is the subcommand.
func Run(ctx context.Context, s step.Streams, args []string) error {
	var o Options
	plan, err := o.begin(args, s.Err)
	if err != nil {
		return err
	}
	c, err := cluster.Connect([]string{o.TargetWorkspace, o.TargetDir}, plan.Target.Name, plan.Target.Namespace, s.Env)
	if err != nil {
		return step.Exit(contract.ExitUsage, err)
	}
	if c.Local {
		return step.Usagef(
			"running %s on target %q: this step already runs on that cluster, where it creates no Jobs; compile the "+
				"experiment for target %q",
			o.Task, plan.Target.Name, contract.TargetLocal)
	}
	l, err := newLauncher(o, s, plan, c)
	if err != nil {
		return err
	}
	return l.once(ctx)
}

// once carries the task out unless it has failed before: Tekton repeats a step that has failed, so that one whose pod
// was moved can go on with its Job, and it cannot tell the one from the other.
func (l *launcher) once(ctx context.Context) error {
	if f := failedBefore(l.RunDir, l.work.Name); f.Code != 0 {
		l.tell("it is not retried: this is how it ended")
		return errors.Join(f.err(), f.results(&l.Options))
	}
	err := l.carryOut(ctx)
	if err == nil || errors.Is(err, errMoved) {
		return err
	}
	f := failureOf(err)
	if noted := errors.Join(f.note(l.RunDir, l.work.Name), f.results(&l.Options)); noted != nil {
		l.tell("%v", noted)
	}
	return err
}

func newLauncher(o Options, s step.Streams, plan *runplan.RunPlan, c *cluster.Cluster) (*launcher, error) {
	key, err := step.APIKey(s.Env)
	if err != nil {
		return nil, err
	}
	l := &launcher{Options: o, Streams: s, plan: plan, c: c, run: cluster.RunOf(o.RunID, o.Attempt, s.Env), key: key,
		every: lookEvery}
	l.patience = &patience{target: l.target(), limit: o.Patience, say: l.tell, now: time.Now}
	l.work = o.work(plan, c, l.run.Hub)
	if l.work.Secrets, err = values(plan, o.Secrets()); err != nil {
		return nil, err
	}
	l.news.path = filepath.Join(o.RunDir, contract.FileEvents)
	l.goOn = func(ctx context.Context) (bool, error) {
		hub, err := cluster.Here(plan.Target.Namespace, s.Env)
		if err != nil {
			return false, err
		}
		return hub.TaskRunGoesOn(ctx, s.Env(contract.EnvTaskRun))
	}
	if l.send, err = inputs(o.Task, o.RunDir); err != nil {
		return nil, err
	}
	l.work.Receive = len(l.send) > 0
	if o.Task == contract.Collect {
		l.work.Near = notedNode(o.RunDir)
	}
	return l, step.KeepPlan(o.RunDir, plan)
}

// values are what the task may need of the Secrets of the run. One that is missing the task will miss by itself, with
// the place.
func values(plan *runplan.RunPlan, secrets *step.Secrets) (map[runplan.SecretKey]string, error) {
	keys, err := runplan.ReferencesIn([]any{plan.Measurements, plan.Metrics, plan.Deployment.Endpoint})
	found := map[runplan.SecretKey]string{}
	for _, k := range keys {
		if value, err := secrets.Find(k); err == nil {
			found[k] = value
		}
	}
	return found, err
}

// target is the name of the cluster that the task runs on.
func (l *launcher) target() string { return l.plan.On(l.run.Target).Target.Name }

// tell prints a line for a person.
func (l *launcher) tell(format string, args ...any) {
	fmt.Fprintf(l.Err, "provision: "+format+"\n", args...)
}

// carryOut launches the task, attends to it, brings what it has made, and leaves nothing of it behind. Its error has
// the exit code of the task.
func (l *launcher) carryOut(ctx context.Context) error {
	if err := l.launch(ctx); err != nil {
		if ctx.Err() != nil {
			return l.interrupted(ctx, nil)
		}
		return fmt.Errorf("launching %s on target %q: %w", l.Task, l.target(), err)
	}
	staying, stop := context.WithCancel(context.WithoutCancel(ctx)) // a signal is followed by some more work
	a := l.attend(staying)
	defer a.wait()
	defer stop()
	code, err := a.untilEnd(ctx)
	if err == nil {
		err = l.bring(ctx, a)
	}
	switch {
	case ctx.Err() != nil:
		return l.interrupted(ctx, a)
	case errors.Is(err, errComplete):
		err = nil
	case err == nil:
		a.awaitLog(time.Minute)
	}
	a.stopLooking()
	return l.conclude(ctx, code, err)
}

// launch makes the Job, or finds that of an earlier launcher.
func (l *launcher) launch(ctx context.Context) error {
	var launched cluster.Launched
	err := l.again(ctx, func() (err error) {
		trying, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		launched, err = l.c.Launch(trying, l.plan, l.run, l.work, l.key)
		return err
	})
	if err != nil {
		return err
	}
	l.token = launched.Token
	if launched.Found {
		l.tell("job %s was launched before: resuming it", l.work.Name)
		return nil
	}
	l.tell("%s runs on target %q as job %s of namespace %s", l.Task, l.target(), l.work.Name, l.c.Namespace)
	if l.Task == contract.LoadGen {
		return setAside(l.RunDir, l.measurement(), l.Attempt)
	}
	return nil
}

// bring fetches what the task has made into the run directory. A pod that is lost meanwhile is the reason why it could
// not.
func (l *launcher) bring(ctx context.Context, a *attendance) error {
	a.stopLooking()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer a.whenLost(func(lost *lostError) { stop(lost) })()
	err := l.fetch(ctx, l.again)
	if lost := new(lostError); err != nil && errors.As(context.Cause(ctx), &lost) {
		return lost
	}
	return err
}

// fetch brings all files but those that the run has already, and the events that are new.
func (l *launcher) fetch(ctx context.Context, again transfer.Again) error {
	from := l.c.FilesOf(l.pod(), l.token)
	err := transfer.Fetch(ctx, from, l.RunDir, transfer.Options{Again: again, AtOnce: 2, Only: func(path string) bool {
		return path != contract.FileEvents && path != contract.FilePlan
	}})
	if err == nil {
		err = again(ctx, func() error {
			asking, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			return l.news.take(asking, from)
		})
	}
	if transfer.NoRoom(err) {
		return fmt.Errorf("the volume of the run directory is full, and the results of %s do not fit: %w", l.Task, err)
	}
	if err != nil {
		return fmt.Errorf("fetching the results of %s from target %q: %w", l.Task, l.target(), err)
	}
	return nil
}

// conclude leaves nothing on the target, marks what is only a part, and says how the task ended.
func (l *launcher) conclude(ctx context.Context, code int, err error) error {
	l.end(ctx)
	if dropped := l.again(ctx, func() error { return l.drop(ctx) }); dropped != nil {
		l.tell("%v; the end of the run removes it", dropped)
	}
	var lost *lostError
	switch {
	case errors.As(err, &lost):
		where := fmt.Errorf("%s was lost on target %q: %w", l.Task, l.target(), lost)
		if l.Task == contract.LoadGen {
			where = errors.Join(where, markLost(l.RunDir, &l.Options, l.endpoint(), lost, time.Now()))
		}
		return errors.Join(where, record(l.RunDir, &l.Options, lost))
	case err != nil:
		return err
	case code == killedCode:
		return l.killed()
	case code != 0:
		return step.Exit(code, fmt.Errorf("%s ended with exit code %d on target %q", l.Task, code, l.target()))
	}
	return nil
}

// killed says how the task was killed, in the result of a load too: it could not.
func (l *launcher) killed() error {
	reason, why := contract.ReasonStepKilled, "by somebody or because memory ran out"
	if l.attended.outOfMemory {
		reason, why = contract.ReasonStepOOM, "because memory ran out"
	}
	err := fmt.Errorf("%s was killed on target %q, %s (exit code %d)", l.Task, l.target(), why, killedCode)
	if kill, ok := report.KillOf(reason); ok && l.Task == contract.LoadGen {
		_, marked := report.MarkKilled(l.RunDir, l.measurement(), l.Attempt, kill)
		err = errors.Join(err, marked)
	}
	return step.Exit(killedCode, err)
}

// killedCode is that of a container that a signal has ended which it cannot answer.
const killedCode = 128 + 9

// end tells the results server that all is here; that the pod ends then is best effort, for the Job is deleted in any
// case.
func (l *launcher) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if pod := l.pod(); pod != "" {
		_ = l.c.FilesOf(pod, l.token).End(ctx)
	}
}

func (l *launcher) drop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, dropTime)
	defer cancel()
	return l.c.Drop(ctx, l.work.Name)
}
