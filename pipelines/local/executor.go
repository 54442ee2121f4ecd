package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"

	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// executor carries one attempt of a run.
type executor struct {
	o        Options
	program  *program
	ledger   *ledger
	launcher *launcher
	lifeline *os.File        // read end, which every step inherits
	kept     map[string]Task // tasks of earlier attempts that need not run again
	over     *stopCause      // the timeout of a phase, when one was reached

	mu        sync.Mutex
	temporary []string // folders outside the run directory
}

// attempt runs the program from its first transition to its last and clears up behind it.
func (e *executor) attempt(ctx context.Context) error {
	read, write, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("making the lifeline of the steps: %w", err)
	}
	defer read.Close()
	e.lifeline, e.launcher = read, newLauncher()
	defer e.clear()
	defer e.launcher.close()
	e.runPhases(ctx)
	if e.o.Stay != nil && e.ledger.err() == nil && !e.isStopped() {
		e.o.Stay(ctx, e.ledger.status())
	}
	write.Close() // ends what steps left running in the background
	return errors.Join(e.ledger.err(), sweep(e.o.RunDir, e.grace()))
}

// grace is how long background processes get after the run; none after a hard stop.
func (e *executor) grace() time.Duration {
	if e.isStopped() {
		return 0
	}
	return e.o.Grace
}

func (e *executor) isStopped() bool {
	select {
	case <-e.o.Stop:
		return true
	default:
		return false
	}
}

// runPhases runs the tasks, then the finally tasks, each phase in its time.
func (e *executor) runPhases(ctx context.Context) {
	if e.ledger.record(e.firstRecord()); e.ledger.err() != nil {
		return // nothing has started
	}
	root, cancelRoot := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancelRoot(nil)
	defer e.onStop(cancelRoot)()
	root, stop := limit(root, e.program.run.PipelineTimeout(ctx), "timeouts.pipeline")
	defer stop()
	e.runTasks(ctx, root)
	if len(e.program.spec.Finally) > 0 {
		e.ledger.record(Record{Kind: FinallyStarted})
		phase, stop := limit(root, phaseTimeout(e.program.run.FinallyTimeout()), "timeouts.finally")
		e.runFinally(phase)
		e.noteTimeout(phase)
		stop()
	}
	e.ledger.record(e.lastRecord(ctx, root))
}

// runTasks runs the graph until it is done, ctx ends, its time is over or the journal can no longer be written.
func (e *executor) runTasks(ctx, root context.Context) {
	phase, stop := limit(root, phaseTimeout(e.program.run.TasksTimeout()), "timeouts.tasks")
	defer stop()
	phase, cancel := context.WithCancelCause(phase)
	defer cancel(nil)
	e.ledger.onBroken = func(err error) {
		cancel(&stopCause{Cancelled, v1.TaskRunReasonCancelled.String(), "the run could not be recorded: " + err.Error()})
	}
	defer step.AfterFunc(ctx, func() {
		e.ledger.record(Record{
			Kind: CancelRequested, Reason: v1.PipelineRunReasonCancelledRunningFinally.String(), Message: "cancelled",
		})
		cancel(&stopCause{Cancelled, v1.TaskRunReasonCancelled.String(), "the run was cancelled"})
	})()
	e.runGraph(phase)
	e.noteTimeout(phase)
}

// noteTimeout keeps the timeout that phase reached, if it did.
func (e *executor) noteTimeout(phase context.Context) {
	var why *stopCause
	if errors.As(context.Cause(phase), &why) && why.state == TimedOut && e.over == nil {
		e.over = why
	}
}

// onStop cancels root when the hard stop comes; the function it returns ends the watch.
func (e *executor) onStop(cancelRoot context.CancelCauseFunc) func() {
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-e.o.Stop:
			cancelRoot(&stopCause{Cancelled, v1.TaskRunReasonCancelled.String(), "the run was stopped at once"})
		case <-done:
		}
	})
	return func() {
		close(done)
		watching.Wait()
	}
}

func (e *executor) firstRecord() Record {
	return Record{
		Kind: AttemptStarted, RunID: e.o.RunID, Pipeline: e.program.pipeline,
		Matrix: e.program.run.Labels[contract.LabelMatrix], Attempt: e.o.Attempt, PID: os.Getpid(),
		Tasks: freshTasks(e.program.spec),
	}
}

func (e *executor) folders() folders {
	return folders{runDir: e.o.RunDir, configs: e.program.configs, secrets: secrets{e.o.Env, e.o.SecretEnv}}
}

func (e *executor) addTemporary(dir string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.temporary = append(e.temporary, dir)
}

// clear removes what only a living executor may leave about, and the private folders of tasks unless someone may want
// to look into them.
func (e *executor) clear() {
	gone := append(e.temporary, filepath.Join(e.o.RunDir, dirSecrets))
	if e.ledger.status().State == Succeeded {
		gone = append(gone, filepath.Join(e.o.RunDir, dirScratch))
	}
	for _, dir := range gone {
		_ = os.RemoveAll(dir)
	}
}

// limit bounds ctx to d, where d is not 0; name is the field that says so.
func limit(ctx context.Context, d time.Duration, name string) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d, &stopCause{
		TimedOut, v1.TaskRunReasonTimedOut.String(), fmt.Sprintf("%s of %s is over", name, d),
	})
}
