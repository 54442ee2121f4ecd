package app

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/imports"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs/local"
	"bflow.dev/bflow/tasks/step"
)

func importCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "import",
		Usage:     "import the result files of another load tool as a run",
		ArgsUsage: "FILE...",
		Description: "A folder stands for all result files in it. The files are copied to the run's directory, without " +
			"headers and API keys.\n" +
			"bflow report, export and list then treat the run like any other.",
		Flags: []cli.Flag{runsDirFlag(), outputFlag(),
			&cli.StringFlag{Name: "as", Value: imports.Auto, Usage: "tool that wrote the files: " +
				strings.Join(imports.Formats(), ", ")},
			&cli.StringFlag{Name: "name", Usage: "name of the run (default: the tool and its start time)"}},
		Action: func(c *cli.Context) error {
			if c.NArg() == 0 {
				return step.Usagef("reading arguments of \"import\": want at least one file or folder")
			}
			root, err := runsDir(c)
			if err != nil {
				return err
			}
			dir, r, err := local.Import(c.Context, local.ImportOptions{Root: root, Files: c.Args().Slice(),
				As: c.String("as"), Name: c.String("name")})
			if err != nil {
				return err
			}
			return show(c, s.Out, []*report.Report{r}, func(w io.Writer) error {
				if err := report.Table(w, screenOf(c, s.Out), r); err != nil {
					return err
				}
				_, err := fmt.Fprintf(w, "run: %s\nreport: %s\n", dir, filepath.Join(dir, contract.FileReportHTML))
				return err
			})
		},
	}
}
