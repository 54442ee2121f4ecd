package app

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

func fetchCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:        "fetch",
		Usage:       "fetch the results of a cluster run, or of all runs of a matrix",
		ArgsUsage:   "RUN",
		Description: "Prints the folder with the results, one per run of a matrix. Skips files that were fetched before, and resumes an interrupted transfer.",
		Flags: worldFlags(
			&cli.StringFlag{Name: "out", Usage: "folder to write to (default: cluster/RUN in the folder of local runs)"},
			&cli.StringSliceFlag{Name: "only", Usage: "fetch only paths with this prefix, such as deployment/; repeatable"}),
		Action: func(c *cli.Context) error {
			name, err := oneArg(c, "run")
			if err != nil {
				return err
			}
			if c.Bool("local") {
				return step.Usagef("fetching %s: it ran on this machine, so its results are already here; see bflow status", name)
			}
			p, err := onCluster(c, name)
			if err != nil {
				return err
			}
			if p.matrix != nil {
				return fetchMatrix(c, s, p)
			}
			return fetchRun(c, s, p, c.String("out"))
		},
	}
}

// fetchRun brings the results of one run to a folder, "" for that of its copy.
func fetchRun(c *cli.Context, s Streams, p place, dir string) (err error) {
	if dir != "" {
		err = fetchInto(c, s, p, dir, only(c.StringSlice("only")))
	} else {
		dir, err = fetchCopy(c, s, p, only(c.StringSlice("only")))
	}
	if err == nil {
		_, err = fmt.Fprintln(s.Out, dir)
	}
	return err
}

// fetchMatrix brings those of all runs of a matrix that have any. One whose results cannot be had keeps nobody from the
// others.
func fetchMatrix(c *cli.Context, s Streams, p place) error {
	runs, err := p.cluster.RunsOf(c.Context, p.matrix)
	if err != nil {
		return err
	}
	var problems []error
	begun := 0
	for i := range runs {
		run := &runs[i]
		if len(run.Last().Status.ChildReferences) == 0 || c.Err() != nil {
			continue
		}
		begun++
		dir := c.String("out")
		if dir != "" {
			dir = filepath.Join(dir, run.ID)
		}
		problems = append(problems, fetchRun(c, s, place{name: run.ID, cluster: p.cluster, run: run}, dir))
	}
	if c.Err() != nil {
		return step.Exit(contract.ExitInterrupted, fmt.Errorf("fetching the results of %s: interrupted; the files fetched so far are kept", p.matrix.Name()))
	}
	if begun == 0 {
		return fmt.Errorf("fetching the results of %s: none of its runs has started", p.matrix.Name())
	}
	return errors.Join(problems...)
}

// only accepts paths that begin with one of prefixes; nil accepts all.
func only(prefixes []string) func(string) bool {
	if len(prefixes) == 0 {
		return nil
	}
	return func(path string) bool {
		for _, p := range prefixes {
			if strings.HasPrefix(path, p) {
				return true
			}
		}
		return false
	}
}
