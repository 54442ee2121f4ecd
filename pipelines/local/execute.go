package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"bflow.dev/bflow/internal/durable"
)

// ErrNoRun means that a folder holds no local run.
var ErrNoRun = errors.New("no local run here")

// defaultGrace is what Kubernetes gives a pod to end.
const defaultGrace = 30 * time.Second

// Run executes the PipelineRun of o to its end and returns how it ended.
//
// When ctx ends, running tasks get SIGTERM and the finally tasks still run, bounded by timeouts.finally. A run that
// fails is not an error: see Status.State and Status.ExitCode. An error means that the executor could not do its work:
// *RefusedError, *LockedError, or a run directory that cannot be written (finally tasks are attempted even then).
func Run(ctx context.Context, o Options) (Status, error) {
	o.Attempt = max(o.Attempt, 1)
	if refusals := Check(o); len(refusals) > 0 {
		return Status{}, &RefusedError{refusals}
	}
	held, err := o.open()
	if err != nil {
		return Status{}, err
	}
	defer held.close()
	if len(held.records) > 0 {
		return replay(held.records).status,
			fmt.Errorf("starting run %q: %q already contains it; resume it, or delete it first", o.RunID, o.RunDir)
	}
	if err := saveObjects(o.RunDir, o.Objects); err != nil {
		return Status{}, err
	}
	return held.execute(ctx, o, nil)
}

// Resume goes on with the run in o.RunDir as its next attempt: finished tasks keep their results, subject to the
// annotation contract.AnnotationResume of their Tasks, and but those of o.Again; finally tasks run again. Processes
// that a dead executor left are killed first. Objects, RunID and Attempt of o are not read.
func Resume(ctx context.Context, o Options) (Status, error) {
	if _, err := os.Stat(journalPath(o.RunDir)); err != nil {
		return Status{}, fmt.Errorf("resuming %q: %w", o.RunDir, ErrNoRun)
	}
	held, err := o.open()
	if err != nil {
		return Status{}, err
	}
	defer held.close()
	before := replay(held.records)
	if len(held.records) == 0 {
		return before.status, fmt.Errorf("resuming run %q: it never started; run it again", filepath.Base(o.RunDir))
	}
	if before.status.State == Succeeded {
		return before.status,
			fmt.Errorf("resuming run %q: nothing is left to do; start a new run of the same plan with bflow rerun",
				filepath.Base(o.RunDir))
	}
	if err := endLeftovers(o.RunDir, held.records); err != nil {
		return before.status, err
	}
	o.RunID, o.Attempt = before.status.RunID, before.status.Attempt+1
	if o.Objects, err = loadObjects(o.RunDir); err != nil {
		return before.status, err
	}
	if refusals := Check(o); len(refusals) > 0 {
		return before.status, &RefusedError{refusals}
	}
	for _, name := range o.Again {
		delete(before.finished, name)
	}
	return held.execute(ctx, o, before.finished)
}

// lockedRun is a run directory that this process holds.
type lockedRun struct {
	lock    *os.File
	journal *journal
	records []Record
}

// open makes the run directory where it is missing and takes it. It completes o.
func (o *Options) open() (*lockedRun, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	lock, err := lock(o.RunDir)
	if err != nil {
		return nil, err
	}
	journal, records, err := openJournal(o.RunDir)
	if err != nil {
		unlock(lock)
		return nil, err
	}
	return &lockedRun{lock, journal, records}, nil
}

func (o *Options) complete() error {
	dir, err := filepath.Abs(o.RunDir)
	if err != nil {
		return fmt.Errorf("finding run directory %q: %w", o.RunDir, err)
	}
	for _, sub := range []string{dirLogs, dirScratch, dirVolumes} {
		if err := durable.MkdirAll(filepath.Join(dir, sub)); err != nil {
			return fmt.Errorf("making run directory: %w; choose a folder that can be written", err)
		}
	}
	if o.RunDir, err = filepath.EvalSymlinks(dir); err != nil {
		return fmt.Errorf("finding run directory %q: %w", dir, err)
	}
	for _, path := range []*string{&o.BinDir, &o.Self} { // steps have a working directory of their own
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return fmt.Errorf("finding %q: %w", *path, err)
		}
	}
	if o.RunID == "" {
		o.RunID = filepath.Base(o.RunDir)
	}
	if o.Grace <= 0 {
		o.Grace = defaultGrace
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return nil
}

func (h *lockedRun) close() {
	h.journal.close()
	unlock(h.lock)
}

// execute runs one attempt; kept holds the tasks that finished in earlier ones.
func (h *lockedRun) execute(ctx context.Context, o Options, finished map[string]Task) (Status, error) {
	program, refusals := link(o)
	if len(refusals) > 0 {
		return Status{}, &RefusedError{refusals}
	}
	l := &ledger{runDir: o.RunDir, clock: o.Clock, observer: o.Observer, journal: h.journal, progress: replay(h.records)}
	e := &executor{o: o, program: program, ledger: l, kept: program.keep(finished)}
	err := e.attempt(ctx)
	status := l.status()
	status.RunDir = o.RunDir
	return status, err
}
