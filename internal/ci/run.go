package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"bflow.dev/bflow/internal/ci/green"
	"bflow.dev/bflow/internal/ci/step"
	"bflow.dev/bflow/internal/ci/timing"
)

// errFailed says no more than what has been printed.
var errFailed = errors.New("the checks have failed")

// run is the whole of the checks.
func run(ctx context.Context, out io.Writer) error {
	p, err := locate()
	if err != nil {
		return err
	}
	if self := os.Getenv("CI_PROGRAM"); self != "" { // steps call it as well
		defer os.RemoveAll(filepath.Dir(self))
	}
	unlock, err := lock(ctx, out, filepath.Join(p.cache, "lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if err := errors.Join(roomFor(p.cache), roomFor(os.TempDir())); err != nil {
		return err
	}
	now, c, err := choice(ctx, p)
	if err != nil {
		return err
	}
	if err := c.print(out); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "bflow-ci-")
	if err != nil {
		return fmt.Errorf("making a folder for the checks: %w", err)
	}
	defer os.RemoveAll(work)
	m, err := remember(ctx, out, p, now, c)
	if err != nil {
		return err
	}
	report, err := all(ctx, out, steps(p, c, work), work, func(r step.Result) { m.ended(ctx, r) })
	if err != nil {
		return err
	}
	return finish(ctx, out, p, report)
}

// all runs the steps and gathers what they took.
func all(
	ctx context.Context, out io.Writer, steps []step.Step, work string, ended func(step.Result),
) (timing.Report, error) {
	report := timing.Report{Began: time.Now().UTC(), CPUs: runtime.NumCPU(), Load: load()}
	logs, events := filepath.Join(work, "logs"), filepath.Join(work, "events")
	if err := errors.Join(os.Mkdir(logs, 0o755), os.Mkdir(events, 0o755)); err != nil {
		return report, fmt.Errorf("making a folder for the checks: %w", err)
	}
	var err error
	report.Steps, err = step.Runner{Out: out, Logs: logs, Now: time.Now, Load: load, Ended: ended}.Run(ctx, steps)
	if err != nil {
		return report, err
	}
	report.Took = time.Since(report.Began)
	report.Tests, err = timing.ReadTests(events)
	return report, err
}

// finish prints and saves the times.
func finish(ctx context.Context, out io.Writer, p place, report timing.Report) error {
	ctx = context.WithoutCancel(ctx) // the table of a run that was interrupted is worth as much
	commit, _, err := green.Head(ctx, p.root)
	if err != nil {
		return err
	}
	report.Commit = commit
	if err := report.Write(out); err != nil {
		return err
	}
	if file := os.Getenv("CI_TIMES"); file != "" {
		if err := report.Save(file); err != nil {
			return err
		}
	}
	for _, s := range report.Steps {
		if s.State != step.Passed && s.State != step.NotNeeded {
			return errFailed
		}
	}
	return nil
}
