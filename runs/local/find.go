package local

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/tasks/step"
)

// CopiesDir is the folder, below that of local runs, with the results of cluster runs that were fetched.
const CopiesDir = "cluster"

// Dir finds the directory of a run below root by its name, an unambiguous start of it, or a path.
func Dir(root, name string) (string, error) {
	for _, dir := range []string{filepath.Join(root, name), name} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return safe(dir)
		}
	}
	names, err := Names(root)
	if err != nil {
		return "", err
	}
	hits := beginning(names, name)
	if len(hits) == 1 {
		return safe(filepath.Join(root, hits[0]))
	}
	return "", &runs.NotFoundError{Name: name, Why: runs.WhyNot(name, names, hits, "in "+root)}
}

// beginning are those of names that begin as given.
func beginning(names []string, start string) (hits []string) {
	for _, n := range names {
		if strings.HasPrefix(n, start) {
			hits = append(hits, n)
		}
	}
	return hits
}

// safe is a folder of a run as an absolute path. One that comes from elsewhere may hold a device or a pipe under the
// name of a file: whoever reads that reads for ever.
func safe(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if !holdsRun(dir) {
		return dir, nil // whoever looks next says so
	}
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Type().IsRegular() {
			return nil // what cannot be read is told of by whoever wants it
		}
		if info, err := os.Stat(path); err == nil && info.Mode()&(fs.ModeDevice|fs.ModeNamedPipe) != 0 {
			return step.Usagef("reading run %q: %q is a device or a pipe, which no run creates; remove it",
				filepath.Base(dir), path)
		}
		return nil
	})
	return dir, err
}

// holdsRun reports whether a folder looks like that of a run, so that it is no large one of something else.
func holdsRun(dir string) bool {
	return slices.ContainsFunc([]string{runplan.FileJSON, runplan.FileGzip, contract.FileReport},
		func(name string) bool {
			_, err := os.Lstat(filepath.Join(dir, name))
			return err == nil
		})
}

// Names are those of the runs below root.
func Names(root string) ([]string, error) {
	entries, err := os.ReadDir(root)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing runs: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && e.Name() != CopiesDir && !strings.HasPrefix(e.Name(), ".") { // a dot begins what is in the making
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// PlanByHash returns the plan of a run below root whose hash begins with prefix, nil where none does.
func PlanByHash(root, prefix string) (*runplan.RunPlan, error) {
	if len(prefix) < 8 || strings.Trim(prefix, "0123456789abcdef") != "" {
		return nil, nil
	}
	names, err := Names(root)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		plan, err := runplan.Read(filepath.Join(root, name))
		if err == nil && strings.HasPrefix(plan.Hash, prefix) { // one that cannot be read has no hash
			return plan, nil
		}
	}
	return nil, nil
}
