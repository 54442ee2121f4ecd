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
			Usage: "on a cluster: skip the remaining tasks and release the quota at once; bflow-controller " +
				"cleans up as soon as it can"}),
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
