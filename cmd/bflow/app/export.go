package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/export"
	"bflow.dev/bflow/results/checksums"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

func exportCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "export",
		Usage:     "export the results of a run in another tool's format",
		ArgsUsage: "RUN",
		Flags: findFlags(
			&cli.StringFlag{Name: "format", Usage: "format to write: " + strings.Join(export.Formats(), ", ")},
			&cli.StringFlag{
				Name:  "out",
				Usage: "file to write to, or a folder if the format has several files (default: standard output)",
			}),
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
			where, err := whereOf(c)
			if err != nil {
				return err
			}
			dir, err := kindsOf(c, s).Results(c.Context, console(c, s), name, where)
			if err != nil {
				return exit(c, 0, err)
			}
			if err := checksums.Verify(dir, nil); err != nil {
				return err
			}
			r, err := report.Read(dir)
			if err != nil {
				return err
			}
			defer export.CollectEarly()()
			return writeRun(c, s, exporter, export.Run{Dir: dir, Report: r})
		},
	}
}

func writeRun(c *cli.Context, s Streams, exporter export.Exporter, run export.Run) error {
	files, err := exporter.Files(c.Context, run)
	switch {
	case err != nil:
		return err
	case c.String("out") != "":
		return writeExport(c.Context, c.String("out"), files)
	case len(files) != 1:
		return step.Usagef("reading flags of \"export\": %s has %d files; name a folder with --out",
			c.String("format"), len(files))
	}
	return files[0].Write(c.Context, s.Out)
}

// writeExport writes one file at path, or several, each whole or not at all, below it. One file goes into path where
// that is a folder.
func writeExport(ctx context.Context, path string, files []export.File) error {
	info, err := os.Stat(path)
	folder := len(files) != 1 || err == nil && info.IsDir() || strings.HasSuffix(path, string(filepath.Separator))
	for _, f := range files {
		at := path
		if folder {
			at = filepath.Join(path, filepath.FromSlash(f.Name))
		}
		if err := writeWhole(ctx, at, f); err != nil {
			return err
		}
	}
	return nil
}

// writeWhole gives a file its name once it is whole.
func writeWhole(ctx context.Context, path string, from export.File) error {
	f, err := durable.Create(path)
	if err != nil {
		return fmt.Errorf("starting the export: %w", err)
	}
	defer f.Discard()
	if err := from.Write(ctx, f); err != nil {
		return err
	}
	return f.Commit()
}
