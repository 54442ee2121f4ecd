package app

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/tasks/provision"
	"bflow.dev/bflow/tasks/step"
)

func deleteCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "delete",
		Usage:     "delete runs and everything they left behind",
		ArgsUsage: "RUN...",
		Flags:     []cli.Flag{runsDirFlag()},
		Action: func(c *cli.Context) error {
			if c.NArg() == 0 {
				return step.Usagef("reading arguments of \"delete\": want at least one run")
			}
			for _, name := range c.Args().Slice() {
				dir, err := runDir(c, name)
				if err != nil {
					return err
				}
				if err := provision.Teardown(c.Context, dir); err != nil {
					return err
				}
				if err := local.Delete(dir); err != nil {
					return err
				}
				fmt.Fprintf(s.Err, "deleted %s\n", name)
			}
			return nil
		},
	}
}
