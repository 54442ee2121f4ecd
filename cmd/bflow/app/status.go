package app

import (
	"io"

	"github.com/urfave/cli/v2"
)

func statusCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "status",
		Usage:     "show the progress of a run",
		ArgsUsage: "RUN",
		Flags:     findFlags(outputFlag(), plainFlag()),
		Action: func(c *cli.Context) error {
			run, err := runArg(c, s)
			if err != nil {
				return err
			}
			view, err := run.Status(c.Context)
			if err != nil {
				return err
			}
			return show(c, s.Out, view.Value, func(w io.Writer) error { return view.Table(w, screenOf(c, s.Out)) })
		},
	}
}
