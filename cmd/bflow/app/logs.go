package app

import (
	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/runs"
)

func logsCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "logs",
		Usage:     "print the logs of a run's tasks",
		ArgsUsage: "RUN",
		Flags: findFlags(
			&cli.StringFlag{Name: "task", Usage: "print the logs of this task only"},
			&cli.BoolFlag{Name: "engine", Usage: "print the log of the server under test instead"},
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "on a cluster: keep printing until the run ends"}),
		Action: func(c *cli.Context) error {
			run, err := runArg(c, s)
			if err != nil {
				return err
			}
			o := runs.LogOptions{Task: c.String("task"), Engine: c.Bool("engine"), Follow: c.Bool("follow")}
			return exit(c, 0, run.Logs(c.Context, console(c, s), o))
		},
	}
}
