package app

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/runplan/contract"
	clusterrun "bflow.dev/bflow/runs/cluster"
	"bflow.dev/bflow/tasks/step"
)

func logsCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "logs",
		Usage:     "print the logs of a run's tasks",
		ArgsUsage: "RUN",
		Flags: worldFlags(
			&cli.StringFlag{Name: "task", Usage: "print the logs of this task only"},
			&cli.BoolFlag{Name: "engine", Usage: "print the log of the server under test instead"},
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "on a cluster: keep printing until the run ends"}),
		Action: func(c *cli.Context) error {
			p, err := placeArg(c)
			if err == nil {
				err = p.single(c)
			}
			if err != nil {
				return err
			}
			if p.run != nil {
				return clusterLogs(c, s, p)
			}
			if c.Bool("follow") {
				return step.Usagef("reading logs of %s: --follow is for runs on a cluster; follow this one with bflow watch %s", p.name, p.name)
			}
			if c.Bool("engine") {
				return copyLog(s.Out, filepath.Join(p.dir, contract.FileEngineLog), "")
			}
			status, err := local.StatusOf(p.dir)
			if err != nil {
				return err
			}
			return taskLogs(s.Out, status, c.String("task"))
		},
	}
}

// clusterLogs prints the logs of pods.
func clusterLogs(c *cli.Context, s Streams, p place) error {
	line := func(source, text string) error {
		_, err := fmt.Fprintf(s.Out, "[%s] %s\n", source, text)
		return err
	}
	gone := func(task string) {
		fmt.Fprintf(s.Err, "the pod of task %s is gone with its log; fetch what the run has recorded with bflow fetch %s\n", task, p.run.ID)
	}
	var err error
	switch {
	case c.Bool("engine"):
		if err = p.cluster.EngineLogs(c.Context, p.run, c.Bool("follow"), line); errors.Is(err, clusterrun.ErrNoEngine) {
			err = fmt.Errorf("%w; once task release has run, the logs are among the results: bflow fetch %s --only deployment/", err, p.run.ID)
		}
	case c.Bool("follow"):
		_, err = p.cluster.FollowLogs(c.Context, p.run, c.String("task"), line, func(err error) { trouble(s, err) })
	default:
		err = p.cluster.Logs(c.Context, p.run, c.String("task"), line, gone)
	}
	var none *clusterrun.NoTaskError
	switch {
	case errors.As(err, &none):
		return step.Exit(contract.ExitUsage, err)
	case c.Err() != nil:
		return silently(contract.ExitInterrupted)
	}
	return err
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
