package app

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/generator/spec"
)

func validateCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:        "validate",
		Usage:       "check files, or every profile below a folder",
		ArgsUsage:   "FILE|DIR...",
		Description: "Prints every problem with its position and a hint, and exits with 2 when there is an error.",
		Flags:       planFlags(),
		Action: func(c *cli.Context) error {
			in, err := readFiles(c, s, spec.Options{CheckAll: true})
			if err != nil {
				return err
			}
			points := 0
			if len(in.set.Experiments) > 0 {
				all, err := matrices(c, s, in)
				if err != nil {
					return err
				}
				for _, m := range all {
					points += m.Len()
				}
			}
			fmt.Fprintf(s.Err, "valid: %s, %s\n", counted(len(in.set.Experiments), "experiment"), counted(points, "run"))
			return nil
		},
	}
}

// counted is "1 run", "2 runs".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
