package app

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/tasks/step"
)

func fetchCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:        "fetch",
		Usage:       "bring the results of a cluster run to this machine",
		ArgsUsage:   "RUN",
		Description: "Prints the folder. What is there already is not fetched again; an interrupted transfer goes on where it was.",
		Flags: worldFlags(
			&cli.StringFlag{Name: "out", Usage: "folder (default: cluster/RUN in the folder of local runs)"},
			&cli.StringSliceFlag{Name: "only", Usage: "start of the paths to fetch, such as deployment/; repeatable"}),
		Action: func(c *cli.Context) error {
			name, err := oneArg(c, "run")
			if err != nil {
				return err
			}
			if c.Bool("local") {
				return step.Usagef("fetching %s: runs of this machine are here already; see bflow status", name)
			}
			p, err := onCluster(c, name)
			if err == nil && p.matrix != nil {
				err = several(c, p.matrix.Name(), p.matrix.Points(), p.matrix.Child(0))
			}
			if err != nil {
				return err
			}
			dir := c.String("out")
			if dir != "" {
				err = fetchInto(c, s, p, dir, only(c.StringSlice("only")))
			} else {
				dir, err = fetchCopy(c, s, p, only(c.StringSlice("only")))
			}
			if err == nil {
				_, err = fmt.Fprintln(s.Out, dir)
			}
			return err
		},
	}
}

// only accepts paths that begin with one of prefixes; nil accepts all.
func only(prefixes []string) func(string) bool {
	if len(prefixes) == 0 {
		return nil
	}
	return func(path string) bool {
		for _, p := range prefixes {
			if strings.HasPrefix(path, p) {
				return true
			}
		}
		return false
	}
}
