package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/assemble"
	"bflow.dev/bflow/report/export"
	"bflow.dev/bflow/report/imports"
	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/report/write"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// ImportOptions say which result files of another tool become a run.
type ImportOptions struct {
	Root  string   // folder of runs
	Files []string // a folder stands for the result files in it
	As    string   // tool that wrote them, or imports.Auto
	Name  string   // of the run; "" = the tool and the time of its start
}

// Import makes a run of result files, and returns its folder.
func Import(ctx context.Context, o ImportOptions) (string, *report.Report, error) {
	defer export.CollectEarly()()
	if err := durable.MkdirAll(o.Root); err != nil {
		return "", nil, fmt.Errorf("making the folder of runs: %w", err)
	}
	docs, err := imports.Open(ctx, o.Files, o.Root)
	if err != nil {
		return "", nil, badFile(ctx, err)
	}
	in, err := imports.Read(ctx, docs, o.As)
	if err != nil {
		return "", nil, badFile(ctx, err)
	}
	dir, err := o.dir(in)
	if err != nil {
		return "", nil, err
	}
	r, err := writeImport(ctx, dir, in, docs)
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
	kept, err := imports.Write(ctx, made, filepath.Base(dir), in, docs)
	if errors.As(err, &malformed) {
		return nil, badFile(ctx, err)
	}
	if err != nil {
		return nil, err
	}
	r, err := assemble.Report(made)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, err
	}
	if err := write.All(ctx, made, r, kept...); err != nil {
		return nil, err
	}
	return r, durable.Rename(made, dir)
}

// dir is the directory of the run that is to be made.
func (o ImportOptions) dir(in *tools.Imported) (string, error) {
	name := o.Name
	if name == "" {
		name = unused(o.Root, in.Tool+"-"+time.Unix(0, in.AnchorUnixNS).UTC().Format("20060102-150405"))
	}
	if !regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`).MatchString(name) {
		return "", step.Usagef(
			"naming the run: %q is not a valid name: want at most 63 lower-case letters, digits and dashes", name)
	}
	return filepath.Join(o.Root, name), nil
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
