package app

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/cmd/bflow/progress"
	"bflow.dev/bflow/pipelines/local"
)

func listCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:  "list",
		Usage: "list runs, newest first",
		Flags: []cli.Flag{runsDirFlag(), outputFlag()},
		Action: func(c *cli.Context) error {
			root, err := runsDir(c)
			if err != nil {
				return err
			}
			runs, err := local.List(root)
			if err != nil {
				return err
			}
			runs = append(runs, importedRuns(root)...)
			slices.SortFunc(runs, func(a, b local.Status) int { return b.Started.Compare(a.Started) })
			return show(c, s.Out, runs, func(w io.Writer) error { return listTable(w, runs) })
		},
	}
}

func listTable(w io.Writer, runs []local.Status) error {
	fmt.Fprintln(w, "RUN\tSTATE\tVERDICT\tATTEMPT\tSTARTED\tTIME\tMESSAGE")
	for _, r := range runs {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", r.RunID, r.State, verdictOf(r), r.Attempt,
			r.Started.Local().Format("2006-01-02 15:04:05"), took(r.Started, r.Finished, r.Alive), clip(progress.Reason(r.Message)))
	}
	return nil
}

// clip keeps a line of the listing on one line of most screens; bflow status has the whole message.
func clip(s string) string {
	const widest = 80
	if r := []rune(s); len(r) > widest {
		return string(r[:widest-3]) + "..."
	}
	return s
}

// took is how long something ran, or has run.
func took(started, finished time.Time, alive bool) string {
	switch {
	case started.IsZero():
		return "-"
	case !finished.IsZero():
		return finished.Sub(started).Round(100 * time.Millisecond).String()
	case alive:
		return time.Since(started).Round(time.Second).String()
	default:
		return "-"
	}
}
