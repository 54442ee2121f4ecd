package app

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/tasks/step"
)

func fetchCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "fetch",
		Usage:     "fetch the results of a cluster run, or of all runs of a matrix",
		ArgsUsage: "RUN",
		Description: "Prints the folder with the results, one per run of a matrix. Skips files that were " +
			"fetched before, and resumes an interrupted transfer.",
		Flags: findFlags(
			&cli.StringFlag{Name: "out", Usage: "folder to write to (default: cluster/RUN in the folder of local runs)"},
			&cli.StringSliceFlag{Name: "only", Usage: "fetch only paths with this prefix, such as deployment/; repeatable"}),
		Action: func(c *cli.Context) error {
			name, err := oneArg(c, "run")
			if err != nil {
				return err
			}
			here := step.Usagef("fetching %s: it ran on this machine, so its results are already here; see bflow status", name)
			if c.Bool("local") {
				return here
			}
			run, err := kindsOf(c, s).Find(c.Context, name, runs.Where{Cluster: true})
			if err != nil {
				return err
			}
			distant, ok := run.(runs.Fetcher)
			if !ok {
				return here
			}
			return distant.Fetch(c.Context, console(c, s), runs.FetchOptions{Into: c.String("out"),
				Only: only(c.StringSlice("only"))})
		},
	}
}

// only accepts paths that begin with one of prefixes; nil accepts all.
func only(prefixes []string) func(string) bool {
	if len(prefixes) == 0 {
		return nil
	}
	return func(path string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(path, p) })
	}
}
