package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/results/gather"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// gatherCommand is the task that copies results of runs to the volume of their matrix.
func gatherCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name: contract.RoleGather, Usage: "copy the results of runs to the shared volume of their matrix",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "folder with the volume of each run, named after the run; required"},
			&cli.StringFlag{Name: "into", Usage: "folder for the results of all runs of the matrix; required"},
			&cli.StringFlag{Name: "gathered-result", Usage: "file to write the names of the runs with copied results to"},
		},
		Action: func(c *cli.Context) error {
			if c.String("from") == "" || c.String("into") == "" {
				return step.Usagef("reading flags of \"matrix %s\": want --from and --into; this command is a task of a matrix that bflow run submitted", contract.RoleGather)
			}
			return gatherAll(c, s)
		},
	}
}

// gatherAll copies what can be copied. One run that cannot be is told, and keeps the others from nothing.
func gatherAll(c *cli.Context, s Streams) error {
	folders, err := os.ReadDir(c.String("from"))
	if err != nil {
		return fmt.Errorf("looking for results to gather: %w", err)
	}
	var gathered []string
	for _, folder := range folders {
		if c.Err() != nil {
			return step.Exit(contract.ExitInterrupted, fmt.Errorf("gathering results: interrupted; the files copied so far are kept"))
		}
		if err := gather.Copy(filepath.Join(c.String("from"), folder.Name()), c.String("into"), folder.Name()); err != nil {
			fmt.Fprintf(s.Err, "warning: %v; its volume is kept\n", err)
			continue
		}
		gathered = append(gathered, folder.Name())
	}
	fmt.Fprintf(s.Err, "gathered the results of %d of %d runs\n", len(gathered), len(folders))
	return writeResult(c.String("gathered-result"), strings.Join(gathered, ","))
}
