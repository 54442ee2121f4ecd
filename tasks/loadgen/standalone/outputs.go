package standalone

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/export"
	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// write writes every output and says on w where it is, or why it is not. One that fails does not keep the others away.
func (r *run) write(ctx context.Context, w io.Writer, rep *report.Report) error {
	defer export.CollectEarly()()
	var errs []error
	for _, asked := range r.Outputs {
		o := &output{Output: asked, run: r, from: export.Run{Dir: r.dir, Report: rep}}
		if o.Remark != "" {
			o.note("%s", o.Remark)
		}
		err := o.make(ctx)
		for _, path := range o.paths {
			fmt.Fprintf(w, "%s: %s\n", asked.Format, path)
		}
		for _, note := range o.notes {
			fmt.Fprintf(w, "%s: %s\n", asked.Format, note)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("writing %s: %w", asked.Format, err))
		}
	}
	return errors.Join(errs...)
}

// output is one output in the making.
type output struct {
	tool.Output
	*run
	from  export.Run
	paths []string // written
	notes []string // what it does not hold, a sentence each
}

func (o *output) note(format string, args ...any) {
	o.notes = append(o.notes, fmt.Sprintf(format, args...))
}

// make writes the files of the output.
func (o *output) make(ctx context.Context) error {
	e, err := export.New(o.Format)
	if err != nil {
		return err
	}
	if err := o.setChoices(); err != nil {
		return err
	}
	files, err := e.Files(ctx, o.from)
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.Rows && !o.Detailed {
			continue
		}
		if err := o.put(ctx, o.place(f), o.chosen(f)); err != nil {
			return err
		}
	}
	return nil
}

// setChoices tells the exporter what was asked for.
func (o *output) setChoices() error {
	extras, err := tools.NewFree(o.Extras)
	o.from.Choices = tools.Choices{Rows: o.Rows, Extras: extras, Latencies: o.Metrics, Percentiles: o.Percentiles,
		Lines: o.Append, Note: func(sentence string) { o.note("%s", sentence) }}
	return err
}

// chosen is a file of the exporter, or it as the kind of file that was asked for.
func (o *output) chosen(f export.File) export.File {
	if !o.YAML {
		return f
	}
	return export.File{Name: f.Name, Write: func(ctx context.Context, w io.Writer) error {
		var text bytes.Buffer
		if err := f.Write(ctx, &text); err != nil {
			return err
		}
		data, err := asYAML(text.Bytes())
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	}}
}

// place is the path of a file of the output.
func (o *output) place(f export.File) string {
	switch {
	case !o.Folder:
		return o.Path
	case f.ToolName != "":
		return filepath.Join(o.Path, f.ToolName)
	}
	dir, name := path.Split(f.Name)
	if o.Prefix != "" {
		name = o.Prefix + strings.TrimPrefix(name, f.Stem)
	}
	return filepath.Join(o.Path, filepath.FromSlash(dir+name))
}

// put writes one file whole, or lines behind those that are there.
func (o *output) put(ctx context.Context, at string, from export.File) error {
	if folder(at) {
		return step.Exit(contract.ExitUsage, fmt.Errorf("%q is a folder", at))
	}
	f, err := durable.Create(at)
	if err != nil {
		return err
	}
	defer f.Discard()
	if o.Append {
		err = copyLines(f, at)
	}
	if err == nil {
		err = from.Write(ctx, f)
	}
	if err == nil {
		err = f.Commit()
	}
	if err != nil {
		return err
	}
	o.paths = append(o.paths, at)
	return nil
}

// copyLines copies the lines of a file that may not be there, the last one ended.
func copyLines(to io.Writer, path string) error {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading what is to be appended to: %w", err)
	}
	if len(old) > 0 && !bytes.HasSuffix(old, []byte("\n")) {
		old = append(old, '\n')
	}
	_, err = to.Write(old)
	return err
}
