package app

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/pipelines/local"
)

func cancelCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "cancel",
		Usage:     "stop a run; its finally tasks still take everything down",
		ArgsUsage: "RUN",
		Flags:     []cli.Flag{runsDirFlag()},
		Action: func(c *cli.Context) error {
			dir, err := runArg(c)
			if err != nil {
				return err
			}
			if err := local.Cancel(dir); err != nil {
				return err
			}
			fmt.Fprintf(s.Err, "told the executor of %s to stop; bflow watch follows it\n", c.Args().First())
			return nil
		},
	}
}
