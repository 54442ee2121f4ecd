package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"bflow.dev/bflow/runplan/contract"

	"golang.org/x/sys/unix"
)

// Root returns the default folder of local runs: $XDG_DATA_HOME/bflow/runs, else ~/.local/share/bflow/runs.
func Root(env func(string) string) (string, error) {
	if dir := env("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "bflow", "runs"), nil
	}
	if home := env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "share", "bflow", "runs"), nil
	}
	return "", errors.New("finding the folder of runs: neither XDG_DATA_HOME nor HOME is an absolute path; set one")
}

// StatusOf reads how far the run in runDir is; it needs no executor and changes nothing. ErrNoRun when there is none.
func StatusOf(runDir string) (Status, error) {
	f, err := os.Open(journalPath(runDir))
	if errors.Is(err, fs.ErrNotExist) {
		return Status{}, fmt.Errorf("reading %q: %w", runDir, ErrNoRun)
	}
	if err != nil {
		return Status{}, fmt.Errorf("reading run: %w", err)
	}
	defer f.Close()
	// Whether an executor lives is asked first: one that ends in between has written its last record by then.
	by, alive := heldBy(runDir)
	records, _, err := readJournal(f)
	if err != nil {
		return Status{}, fmt.Errorf("reading journal %q: %w", f.Name(), err)
	}
	s := replay(records).status
	s.RunDir, s.Alive = runDir, alive
	switch {
	case alive:
		s.PID = by.PID
	case !s.State.Done():
		s.State, s.Message, s.ExitCode = Interrupted, "its executor is gone; bflow resume continues the run",
			contract.ExitInterrupted
	}
	if s.RunID == "" {
		s.RunID = filepath.Base(runDir)
	}
	return s, nil
}

// List returns the runs under root, newest first. Folders that hold no local run are passed over; a missing root holds
// none. An error is joined from the runs that cannot be read, beside those that can.
func List(root string) ([]Status, error) {
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing runs: %w", err)
	}
	var runs []Status
	var errs []error
	for _, entry := range entries {
		s, err := StatusOf(filepath.Join(root, entry.Name()))
		switch {
		case err == nil:
			runs = append(runs, s)
		case !errors.Is(err, ErrNoRun) && !errors.Is(err, unix.ENOTDIR):
			errs = append(errs, err)
		}
	}
	slices.SortFunc(runs, func(a, b Status) int { return b.Started.Compare(a.Started) })
	return runs, errors.Join(errs...)
}

// Cancel asks the living executor of runDir to cancel, by SIGTERM: running tasks end, finally tasks run. It does not
// wait.
func Cancel(runDir string) error {
	if _, err := os.Stat(journalPath(runDir)); err != nil {
		return fmt.Errorf("cancelling %q: %w", runDir, ErrNoRun)
	}
	by, alive := heldBy(runDir)
	if !alive || by.PID == 0 {
		return fmt.Errorf("cancelling run %q: no executor is running it", filepath.Base(runDir))
	}
	return kill(by.PID, unix.SIGTERM, startedAt(by.Ticks))
}

// Delete ends what is left of a run whose executor is gone and removes its directory. *LockedError while one holds it.
func Delete(runDir string) error {
	f, err := os.Open(journalPath(runDir))
	if err != nil {
		return fmt.Errorf("deleting %q: %w", runDir, ErrNoRun)
	}
	defer f.Close()
	held, err := lock(runDir)
	if err != nil {
		return err
	}
	defer unlock(held)
	records, _, err := readJournal(f)
	if err != nil {
		records = nil // damage is no reason to keep the run; its mark still finds its processes
	}
	real, err := filepath.EvalSymlinks(runDir)
	if err != nil {
		return fmt.Errorf("deleting run: %w", err)
	}
	if real, err = filepath.Abs(real); err != nil {
		return fmt.Errorf("deleting run: %w", err)
	}
	if err := endLeftovers(real, records); err != nil {
		return err
	}
	if err := os.RemoveAll(real); err != nil {
		return fmt.Errorf("deleting run: %w", err)
	}
	return nil
}
