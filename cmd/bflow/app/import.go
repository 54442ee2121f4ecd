package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"github.com/urfave/cli/v2"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/assemble"
	"bflow.dev/bflow/report/export"
	"bflow.dev/bflow/report/imports"
	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/report/write"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

func importCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name:      "import",
		Usage:     "import the result files of another load tool as a run",
		ArgsUsage: "FILE...",
		Description: "A folder stands for all result files in it. The files are copied to the run's directory, without headers and API keys.\n" +
			"bflow report, export and list then treat the run like any other.",
		Flags: []cli.Flag{runsDirFlag(), outputFlag(),
			&cli.StringFlag{Name: "as", Value: imports.Auto, Usage: "tool that wrote the files: " + strings.Join(imports.Formats(), ", ")},
			&cli.StringFlag{Name: "name", Usage: "name of the run (default: the tool and its start time)"}},
		Action: func(c *cli.Context) error {
			if c.NArg() == 0 {
				return step.Usagef("reading arguments of \"import\": want at least one file or folder")
			}
			dir, r, err := importRun(c)
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

// importRun reads the files that the arguments name and makes a run of them.
func importRun(c *cli.Context) (string, *report.Report, error) {
	defer export.CollectEarly()()
	root, err := runsDir(c)
	if err != nil {
		return "", nil, err
	}
	if err := durable.MkdirAll(root); err != nil {
		return "", nil, fmt.Errorf("making the folder of runs: %w", err)
	}
	docs, err := imports.Open(c.Context, c.Args().Slice(), root)
	if err != nil {
		return "", nil, badFile(c.Context, err)
	}
	in, err := imports.Read(c.Context, docs, c.String("as"))
	if err != nil {
		return "", nil, badFile(c.Context, err)
	}
	dir, err := importedDir(c, root, in)
	if err != nil {
		return "", nil, err
	}
	r, err := writeImport(c.Context, dir, in, docs)
	return dir, r, err
}

// badFile is an error of the files unless the reading was interrupted.
func badFile(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return step.Exit(contract.ExitUsage, err)
}

// writeImport makes the run aside and gives it its name once it is whole.
func writeImport(ctx context.Context, dir string, in *tools.Imported, docs []tools.Document) (*report.Report, error) {
	if _, err := os.Lstat(dir); err == nil {
		return nil, fmt.Errorf("making the run directory: %q exists; choose another name with --name", dir)
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), ".import-*")
	if err != nil {
		return nil, fmt.Errorf("making the run directory: %w", err)
	}
	defer os.RemoveAll(work)
	made := filepath.Join(work, filepath.Base(dir))
	var malformed *tools.FormatError
	if err := imports.Write(ctx, made, filepath.Base(dir), in, docs); errors.As(err, &malformed) {
		return nil, badFile(ctx, err)
	} else if err != nil {
		return nil, err
	}
	r, err := assemble.Report(made)
	if err != nil {
		return nil, err
	}
	if err := write.All(made, r); err != nil {
		return nil, err
	}
	return r, durable.Rename(made, dir)
}

// importedDir is the directory of the run that is to be made.
func importedDir(c *cli.Context, root string, in *tools.Imported) (string, error) {
	name := c.String("name")
	if name == "" {
		name = unused(root, in.Tool+"-"+time.Unix(0, in.AnchorUnixNS).UTC().Format("20060102-150405"))
	}
	if !regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`).MatchString(name) {
		return "", step.Usagef("naming the run: %q is not a valid name: want at most 63 lower-case letters, digits and dashes", name)
	}
	return filepath.Join(root, name), nil
}

// unused numbers a name that a run has already: some tools do not say when they ran.
func unused(root, name string) string {
	numbered := name
	for n := 2; ; n++ {
		if _, err := os.Stat(filepath.Join(root, numbered)); err != nil {
			return numbered
		}
		numbered = fmt.Sprintf("%s-%d", name, n)
	}
}

// importedRuns are the runs under root that another tool has measured: they have a report and no journal.
func importedRuns(root string) []local.Status {
	names, err := runNames(root)
	if err != nil {
		return nil // local.List has said so
	}
	var out []local.Status
	for _, name := range names {
		dir := filepath.Join(root, name)
		r, err := report.Read(dir)
		if err != nil || r.Plan == nil || r.Plan.Labels["imported_from"] == "" {
			continue
		}
		out = append(out, local.Status{RunID: name, RunDir: dir, Attempt: 1, State: local.Succeeded, ExitCode: r.Verdict.ExitCode,
			Message: strings.TrimSpace("imported from " + r.Plan.Labels["imported_from"] + " " + r.Plan.Labels["imported_version"]),
			Started: r.Run.Start, Finished: r.Run.End, Tasks: []local.Task{{Name: "import", State: local.Succeeded, Started: r.Run.Start, Finished: r.Run.End,
				Results: local.Results{contract.ResultVerdict: {Type: v1.ParamTypeString, StringVal: r.Verdict.Verdict}}}}})
	}
	return out
}
