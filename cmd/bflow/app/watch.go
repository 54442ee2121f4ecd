package app

import "github.com/urfave/cli/v2"

func watchCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "watch",
		Usage:     "follow a run until it ends, and exit with its code",
		ArgsUsage: "RUN",
		Flags:     findFlags(plainFlag()),
		Action: func(c *cli.Context) error {
			run, err := runArg(c, s)
			if err != nil {
				return err
			}
			code, err := run.Follow(c.Context, console(c, s))
			return exit(c, code, err)
		},
	}
}
