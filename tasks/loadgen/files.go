package loadgen

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/results/checksums"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// keepOld makes the folder of the measurement and moves what an earlier attempt left in it to attempt-<k>/: a cut
// measurement starts again whole, and nothing that was measured is lost.
func keepOld(dir string, plan *runplan.RunPlan, o Options) error {
	if err := durable.MkdirAll(dir); err != nil {
		return fmt.Errorf("making the folder of measurement %d: %w", o.Measurement, err)
	}
	if err := checksums.Retract(o.RunDir); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("reading the folder of measurement %d: %w", o.Measurement, err)
	}
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), contract.AttemptPrefix) {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		return nil
	}
	to, err := freeFolder(dir, earlier(dir, o.Attempt))
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := durable.Rename(filepath.Join(dir, name), filepath.Join(to, name)); err != nil {
			return fmt.Errorf("keeping the previous attempt: %w", err)
		}
	}
	return recoverRows(to, report.Header{PlanHash: plan.Hash, Run: o.RunID, Measurement: o.Measurement, Interrupted: true})
}

// earlier returns the attempt whose files lie in dir, else the one before ours.
func earlier(dir string, attempt int) int {
	var old report.LoadGen
	if step.ReadJSON(filepath.Join(dir, contract.FileLoadGen), &old) == nil && old.Attempt > 0 {
		return old.Attempt
	}
	return max(1, attempt-1)
}

// freeFolder makes attempt-<k>, or attempt-<k>.2 and so on where that attempt was started more than once.
func freeFolder(dir string, k int) (string, error) {
	name := filepath.Join(dir, fmt.Sprintf("%s%d", contract.AttemptPrefix, k))
	for again := 2; ; again++ {
		err := os.Mkdir(name, 0o755)
		if err == nil || !errors.Is(err, fs.ErrExist) {
			return name, err
		}
		name = filepath.Join(dir, fmt.Sprintf("%s%d.%d", contract.AttemptPrefix, k, again))
	}
}
