package standalone

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"bflow.dev/bflow/tasks/contract"
	"bflow.dev/bflow/tasks/durable"
	"bflow.dev/bflow/tasks/loadgen/words"
	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/report/export"
	"bflow.dev/bflow/tasks/step"
)

// write writes every output and says on w where it is, or why it is not. One that fails does not keep the others away.
func (r *run) write(w io.Writer, rep *report.Report) error {
	var errs []error
	for _, asked := range r.Outputs {
		o := &output{Output: asked, run: r, from: export.Run{Dir: r.dir, Report: rep}}
		err := o.make()
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
	words.Output
	*run
	from  export.Run
	paths []string // written
	notes []string // what it does not hold, a sentence each
}

func (o *output) note(format string, args ...any) {
	o.notes = append(o.notes, fmt.Sprintf(format, args...))
}

// make writes the files of the output.
func (o *output) make() error {
	e, err := export.New(o.Format)
	if err != nil {
		return err
	}
	files, err := e.Files(o.from)
	if err != nil {
		return err
	}
	for _, f := range files {
		var text bytes.Buffer
		if !o.wanted(f.Name) {
			continue
		}
		if err := f.Write(&text); err != nil {
			return err
		}
		data, err := o.shape(f.Name, text.Bytes())
		if err != nil {
			return err
		}
		if err := o.put(o.place(f.Name, data), data); err != nil {
			return err
		}
	}
	return nil
}

// wanted says whether a file of the format was asked for: lists of requests only where details are.
func (o *output) wanted(name string) bool {
	switch path.Base(name) {
	case "per_request_lifecycle_metrics.json", "profile_export.jsonl":
		return o.Detailed
	}
	return true
}

// place is the path of a file of the output.
func (o *output) place(name string, data []byte) string {
	switch {
	case !o.Folder:
		return o.Path
	case o.Format == words.FormatVLLMBench, o.Format == words.FormatVLLMDetailed:
		return filepath.Join(o.Path, vllmName(data))
	case o.Format == words.FormatAIPerf && o.Prefix != "":
		dir, base := path.Split(name)
		rest, _ := strings.CutPrefix(base, "profile_export")
		name = dir + o.Prefix + rest
	default:
		dir, base := path.Split(name)
		name = dir + o.Prefix + base
	}
	return filepath.Join(o.Path, filepath.FromSlash(name))
}

// shape makes of what the exporter wrote what was asked for.
func (o *output) shape(name string, data []byte) ([]byte, error) {
	switch o.Format {
	case words.FormatGuideLLM, words.FormatGuideLLM03:
		return o.guidellm(data)
	case words.FormatVLLMBench, words.FormatVLLMDetailed:
		return o.vllm(data)
	case words.FormatInference:
		return o.inferencePerf(name, data)
	}
	return data, nil
}

// put writes one file whole, or a line behind those that are there.
func (o *output) put(at string, data []byte) error {
	if o.Append {
		old, err := os.ReadFile(at)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("reading what is to be appended to: %w", err)
		}
		if len(old) > 0 && !bytes.HasSuffix(old, []byte("\n")) {
			old = append(old, '\n')
		}
		data = append(old, data...)
	}
	if folder(at) {
		return step.Exit(contract.ExitUsage, fmt.Errorf("%q is a folder", at))
	}
	if err := durable.WriteFile(at, data); err != nil {
		return err
	}
	o.paths = append(o.paths, at)
	return nil
}
