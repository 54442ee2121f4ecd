package app

import (
	"fmt"

	"github.com/urfave/cli/v2"
)

func cancelCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "cancel",
		Usage:     "cancel a run, or all runs of a matrix; finally tasks still clean up",
		ArgsUsage: "RUN",
		Flags: findFlags(yesFlag(), &cli.BoolFlag{Name: "force",
			Usage: "on a cluster: run none of its tasks any more and give its quota back at once; bflow-controller " +
				"takes everything down when it can"}),
		Action: func(c *cli.Context) error {
			run, err := runArg(c, s)
			if err != nil {
				return err
			}
			if err := requireWhole(c, run, c.Args().First()); err != nil {
				return err
			}
			sentence, err := run.Cancel(c.Context, c.Bool("force"))
			if err == nil {
				fmt.Fprintln(s.Err, sentence)
			}
			return err
		},
	}
}
