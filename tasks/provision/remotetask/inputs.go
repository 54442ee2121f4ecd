package remotetask

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan/contract"
)

// inputs are the files of the run directory that a task needs, by their paths with slashes. A load needs none: what it
// is to do is in its plan.
func inputs(task, runDir string) ([]string, error) {
	switch task {
	case contract.Smoketest:
		if _, err := os.Stat(filepath.Join(runDir, contract.FileEndpoint)); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return []string{contract.FileEndpoint}, nil
	case contract.Collect:
		return visible(runDir, func(path string) bool {
			return path != contract.FileEvents && !strings.HasPrefix(path, "deployment/logs/") && path != contract.FileEngineLog
		})
	default:
		return nil, nil
	}
}

// visible are the regular files below dir that are wanted and not hidden: those are half written.
func visible(dir string, want func(path string) bool) (paths []string, err error) {
	err = fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path != "." && errors.Is(err, fs.ErrPermission):
			return nil // lost+found of a fresh volume
		case err != nil:
			return err
		case path != "." && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.Type().IsRegular() && want(path):
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("looking for the inputs of the task: %w", err)
	}
	return paths, nil
}

// setAside moves what an earlier execution left of a measurement to attempt-<k>, as load-gen does where it finds any: a
// load begins with an empty folder, and nothing that was measured is lost.
func setAside(runDir string, measurement, attempt int) error {
	dir := report.MeasurementDir(runDir, measurement)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("keeping the previous attempt: %w", err)
	}
	to := ""
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), contract.AttemptPrefix) {
			continue
		}
		if to == "" {
			if to, err = freeFolder(dir, max(1, attempt-1)); err != nil {
				return fmt.Errorf("keeping the previous attempt: %w", err)
			}
		}
		if err := durable.Rename(filepath.Join(dir, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return fmt.Errorf("keeping the previous attempt: %w", err)
		}
	}
	return nil
}

// freeFolder makes attempt-<k>, or attempt-<k>.2 and so on.
func freeFolder(dir string, k int) (string, error) {
	name := filepath.Join(dir, fmt.Sprintf("attempt-%d", k))
	for again := 2; ; again++ {
		err := os.Mkdir(name, 0o755)
		if err == nil || !errors.Is(err, fs.ErrExist) {
			return name, err
		}
		name = filepath.Join(dir, fmt.Sprintf("attempt-%d.%d", k, again))
	}
}

// loadNode is the file with the name of the node on which the load ran. It is hidden: no result, but what collect is to
// know, which on the hub would run on the same node.
const loadNode = ".load-node"

// noteNode remembers where the load runs. Best effort: a report without it lacks one word.
func noteNode(runDir, node string) {
	_ = durable.WriteFile(filepath.Join(runDir, loadNode), []byte(node))
}

// notedNode is the node of the load, "" where nobody has noted one.
func notedNode(runDir string) string {
	data, err := os.ReadFile(filepath.Join(runDir, loadNode))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
