package app

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/tasks/checksums"
	"bflow.dev/bflow/tasks/contract"
	"bflow.dev/bflow/tasks/durable"
	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/report/export"
	"bflow.dev/bflow/tasks/step"
)

func exportCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "export",
		Usage:     "write a run's results in another tool's format",
		ArgsUsage: "RUN",
		Flags: worldFlags(
			&cli.StringFlag{Name: "format", Usage: "one of " + strings.Join(export.Formats(), ", ")},
			&cli.StringFlag{Name: "out", Usage: "file, or folder for a format of several files (default: standard output)"}),
		Action: func(c *cli.Context) error {
			name, err := oneArg(c, "run")
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
			dir, err := resultsDir(c, s, name)
			if err != nil {
				return err
			}
			if err := checksums.Verify(dir, nil); err != nil {
				return err
			}
			r, err := report.Read(dir)
			if err != nil {
				return err
			}
			run := export.Run{Dir: dir, Report: r}
			files, err := exporter.Files(run)
			if err != nil {
				return err
			}
			switch {
			case c.String("out") != "":
				return writeExport(c.String("out"), files)
			case len(files) != 1:
				return step.Usagef("reading flags of \"export\": %s is %d files: name a folder with --out", c.String("format"), len(files))
			}
			return exporter.Export(s.Out, run)
		},
	}
}

// writeExport writes one file at path, or several, each whole or not at all, below it. One file goes into path where
// that is a folder.
func writeExport(path string, files []export.File) error {
	info, err := os.Stat(path)
	folder := len(files) != 1 || err == nil && info.IsDir() || strings.HasSuffix(path, string(filepath.Separator))
	for _, f := range files {
		var text bytes.Buffer
		if err := f.Write(&text); err != nil {
			return err
		}
		at := path
		if folder {
			at = filepath.Join(path, filepath.FromSlash(f.Name))
		}
		if err := durable.MkdirAll(filepath.Dir(at)); err != nil {
			return fmt.Errorf("making the folder of the export: %w", err)
		}
		if err := durable.WriteFile(at, text.Bytes()); err != nil {
			return err
		}
	}
	return nil
}
