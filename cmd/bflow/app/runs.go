package app

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// runsDirFlag says where local runs lie.
func runsDirFlag() cli.Flag {
	return &cli.StringFlag{Name: "runs-dir", Usage: "folder of local runs (default: ~/.local/share/bflow/runs)"}
}

// runsDir is the folder of local runs, absolute.
func runsDir(c *cli.Context) (string, error) {
	if dir := c.String("runs-dir"); dir != "" {
		return filepath.Abs(dir)
	}
	return local.Root(os.Getenv)
}

// runDir finds the directory of a run by its name, an unambiguous start of it, or a path.
func runDir(c *cli.Context, name string) (string, error) {
	if err := named(name, "run"); err != nil {
		return "", err
	}
	root, err := runsDir(c)
	if err != nil {
		return "", err
	}
	for _, dir := range []string{filepath.Join(root, name), name} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return safe(dir)
		}
	}
	names, err := runNames(root)
	if err != nil {
		return "", err
	}
	var hits []string
	for _, n := range names {
		if strings.HasPrefix(n, name) {
			hits = append(hits, n)
		}
	}
	if len(hits) == 1 {
		return safe(filepath.Join(root, hits[0]))
	}
	return "", step.Usagef("looking for run %q: %s", name, notFound(root, name, names, hits))
}

// safe is a folder of a run as an absolute path. One that comes from elsewhere may hold a device or a pipe under the name of a
// file: whoever reads that reads for ever.
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
			return step.Usagef("reading run %q: %q is a device or a pipe, which no run creates; remove it", filepath.Base(dir), path)
		}
		return nil
	})
	return dir, err
}

// holdsRun reports whether a folder looks like that of a run, so that it is no large one of something else.
func holdsRun(dir string) bool {
	return slices.ContainsFunc([]string{runplan.FileJSON, runplan.FileGzip, contract.FileReport}, func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	})
}

func notFound(root, name string, names, hits []string) string {
	if len(hits) > 1 {
		return fmt.Sprintf("%d runs match: %s", len(hits), strings.Join(hits[:min(4, len(hits))], ", "))
	}
	if near := problem.Closest(name, names, 3); len(near) > 0 {
		return "no such run in " + root + "; closest: " + strings.Join(near, ", ")
	}
	return fmt.Sprintf("no such run among the %d in %s; see bflow list", len(names), root)
}

func runNames(root string) ([]string, error) {
	entries, err := os.ReadDir(root)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing runs: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && e.Name() != copiesDir && !strings.HasPrefix(e.Name(), ".") { // a dot begins what is in the making
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// runArg is the directory of the run that the command's one argument names.
func runArg(c *cli.Context) (string, error) {
	name, err := oneArg(c, "run")
	if err != nil {
		return "", err
	}
	return runDir(c, name)
}
