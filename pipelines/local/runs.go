package local

import (
	"errors"
	"path/filepath"
)

// Root returns the default folder of local runs: $XDG_DATA_HOME/bflow/runs, else ~/.local/share/bflow/runs.
func Root(env func(string) string) (string, error) {
	if dir := env("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "bflow", "runs"), nil
	}
	if home := env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "share", "bflow", "runs"), nil
	}
	return "", errors.New("finding the folder of runs: neither XDG_DATA_HOME nor HOME is an absolute path; name a folder with --runs")
}

// StatusOf reads how far the run in runDir is; it needs no executor. ErrNoRun when there is no run.
func StatusOf(runDir string) (Status, error) { return statusOf(runDir) }

// List returns the runs under root, newest first. Folders that hold no local run are passed over; a missing root holds none.
func List(root string) ([]Status, error) { return list(root) }

// Cancel asks the living executor of runDir to cancel: running tasks end, finally tasks run. It does not wait.
func Cancel(runDir string) error { return cancel(runDir) }

// Delete ends what is left of a run whose executor is gone and removes its directory. *LockedError while one holds it.
func Delete(runDir string) error { return remove(runDir) }
