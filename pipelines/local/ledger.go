package local

import (
	"sync"
	"time"

	"bflow.dev/bflow/tasks/step"
)

// ledger is where every transition passes: journal first, then state, events and observer.
type ledger struct {
	runDir   string
	clock    func() time.Time
	observer Observer
	onBroken func(error) // called once, when the first record could not be written

	mu       sync.Mutex
	journal  *journal
	progress *progress
	broken   error
}

// record notes r. When it cannot be written the run goes on in memory, so that its finally tasks see its state, and
// the first such error is kept.
func (l *ledger) record(r Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Time = l.clock().UTC()
	if l.broken == nil {
		if err := l.write(r); err != nil {
			l.broken = err
			if l.onBroken != nil {
				l.onBroken(err)
			}
		}
	}
	l.progress.apply(r)
	if l.observer != nil {
		l.observer.Changed(r)
	}
}

func (l *ledger) write(r Record) error {
	if err := l.journal.append(r); err != nil {
		return err
	}
	if e, ok := event(r); ok {
		return step.AppendEvent(l.runDir, e)
	}
	return nil
}

func (l *ledger) status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.progress.snapshot()
}

// task returns the state of one task.
func (l *ledger) task(name string) Task {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.progress.task(name); t != nil {
		return *t
	}
	return Task{}
}

func (l *ledger) err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken
}

// event is what events.jsonl says of r; transitions of single processes are left to the journal.
func event(r Record) (step.Event, bool) {
	switch r.Kind {
	case AttemptStarted, AttemptFinished, TaskKept, TaskSkipped, TaskStarted, TaskFinished, RunRetried,
		CancelRequested, FinallyStarted:
	default:
		return step.Event{}, false
	}
	fields := map[string]string{}
	for name, value := range map[string]string{
		"task": r.Task, "taskRun": r.TaskRun, "state": string(r.State), "reason": r.Reason, "run": r.RunID,
	} {
		if value != "" {
			fields[name] = value
		}
	}
	return step.Event{Time: r.Time, Source: "local", Event: string(r.Kind), Message: r.Message, Fields: fields}, true
}
