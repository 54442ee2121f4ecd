package app

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/tasks/step"
)

func deleteCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "delete",
		Usage:     "delete runs and all their objects and results",
		ArgsUsage: "RUN...",
		Flags: findFlags(yesFlag(),
			&cli.BoolFlag{Name: "force",
				Usage: "on a cluster: also delete a run that has not ended; without bflow-controller, clean up " +
					"from here and report what could not be verified"},
			&cli.BoolFlag{Name: "keep-results",
				Usage: "on a cluster: fetch the results first, and keep that copy"}),
		Action: func(c *cli.Context) error {
			if c.NArg() == 0 {
				return step.Usagef("reading arguments of \"delete\": want at least one run")
			}
			for _, name := range c.Args().Slice() { // before any is deleted
				if err := requireName(name, "run"); err != nil {
					return err
				}
			}
			for _, name := range c.Args().Slice() {
				if err := deleteRun(c, s, name); err != nil {
					return err
				}
				fmt.Fprintf(s.Err, "deleted %s\n", name)
			}
			return nil
		},
	}
}

func deleteRun(c *cli.Context, s Streams, name string) error {
	where, err := whereOf(c)
	if err != nil {
		return err
	}
	kinds := kindsOf(c, s)
	find := kinds.Find
	if c.Bool("force") {
		find = kinds.FindLeft
	}
	run, err := find(c.Context, name, where)
	if err != nil {
		return err
	}
	if err := requireWhole(c, run, name); err != nil {
		return err
	}
	return run.Delete(c.Context, console(c, s), runs.DeleteOptions{Force: c.Bool("force"),
		KeepResults: c.Bool("keep-results")})
}
