package app

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/tasks/contract"
	"bflow.dev/bflow/tasks/step"
)

func logsCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "logs",
		Usage:     "print what the tasks of a run have written",
		ArgsUsage: "RUN",
		Flags: []cli.Flag{runsDirFlag(),
			&cli.StringFlag{Name: "task", Usage: "only this task"},
			&cli.BoolFlag{Name: "engine", Usage: "the log of the server under test instead"}},
		Action: func(c *cli.Context) error {
			dir, err := runArg(c)
			if err != nil {
				return err
			}
			if c.Bool("engine") {
				return copyLog(s.Out, filepath.Join(dir, contract.FileEngineLog), "")
			}
			status, err := local.StatusOf(dir)
			if err != nil {
				return err
			}
			return taskLogs(s.Out, status, c.String("task"))
		},
	}
}

func taskLogs(w io.Writer, status local.Status, only string) error {
	var names []string
	for _, t := range status.Tasks {
		names = append(names, t.Name)
	}
	if only != "" && !slices.Contains(names, only) {
		return step.Usagef("reading logs of %s: no task %q; it has %s", status.RunID, only, strings.Join(names, ", "))
	}
	for _, t := range status.Tasks {
		if only != "" && t.Name != only {
			continue
		}
		for _, r := range t.Runs {
			for _, st := range r.Steps {
				if err := copyLog(w, filepath.Join(status.RunDir, st.Log), "["+t.Name+"] "); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// copyLog prints a file, each line behind prefix.
func copyLog(w io.Writer, path, prefix string) error {
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading a log: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		if _, err := fmt.Fprint(w, prefix, strings.TrimSuffix(line, "\n"), "\n"); err != nil {
			return err
		}
	}
	return nil
}
