package app

import (
	"bytes"
	"strings"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/tasks/contract"
	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/report/export"
	"bflow.dev/bflow/tasks/step"
)

func exportCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "export",
		Usage:     "write a run's results in another tool's format",
		ArgsUsage: "RUN",
		Flags: []cli.Flag{runsDirFlag(),
			&cli.StringFlag{Name: "format", Usage: "one of " + strings.Join(export.Formats(), ", ")},
			&cli.StringFlag{Name: "out", Usage: "file (default: standard output)"}},
		Action: func(c *cli.Context) error {
			dir, err := runArg(c)
			if err != nil {
				return err
			}
			if c.String("format") == "" {
				return step.Usagef("reading flags of \"export\": want --format, one of %s", strings.Join(export.Formats(), ", "))
			}
			exporter, err := export.New(c.String("format"))
			if err != nil {
				return step.Exit(contract.ExitUsage, err)
			}
			r, err := report.Read(dir)
			if err != nil {
				return err
			}
			run := export.Run{Dir: dir, Report: r}
			path := c.String("out")
			if path == "" {
				return exporter.Export(s.Out, run)
			}
			var text bytes.Buffer
			if err := exporter.Export(&text, run); err != nil {
				return err
			}
			return step.WriteFile(path, text.Bytes())
		},
	}
}
