package app

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/cmd/bflow/progress"
	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/tasks/contract"
)

func statusCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "status",
		Usage:     "say how far a run is",
		ArgsUsage: "RUN",
		Flags:     []cli.Flag{runsDirFlag(), outputFlag()},
		Action: func(c *cli.Context) error {
			dir, err := runArg(c)
			if err != nil {
				return err
			}
			status, err := local.StatusOf(dir)
			if err != nil {
				return err
			}
			return show(c, s.Out, status, func(w io.Writer) error { return statusTable(w, status) })
		},
	}
}

func statusTable(w io.Writer, r local.Status) error {
	fmt.Fprintf(w, "Run:\t%s\nState:\t%s\nAttempt:\t%d\nFolder:\t%s\n", r.RunID, r.State, r.Attempt, r.RunDir)
	if v := verdictOf(r); v != "" {
		fmt.Fprintf(w, "Verdict:\t%s\n", v)
	}
	if r.Message != "" {
		fmt.Fprintf(w, "Message:\t%s\n", r.Message)
	}
	if r.State == local.Interrupted {
		fmt.Fprintf(w, "Next:\tbflow resume %s\n", r.RunID)
	}
	fmt.Fprintln(w, "\nTASK\tSTATE\tTIME\tEXIT\tMESSAGE")
	for _, t := range r.Tasks {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\n", t.Name, t.State, took(t.Started, t.Finished, r.Alive && t.State == local.Running), t.ExitCode, progress.Reason(t.Message))
	}
	return nil
}

// verdictOf is the verdict that a task of the run has given as its result, or "".
func verdictOf(r local.Status) string {
	for _, t := range r.Tasks {
		if v, ok := t.Results[contract.ResultVerdict]; ok {
			return v.StringVal
		}
	}
	return ""
}
