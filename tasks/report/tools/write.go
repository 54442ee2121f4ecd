package tools

import (
	"encoding/json"
	"fmt"
	"io"

	"bflow.dev/bflow/tasks/report"
)

// ExportedBy is the mark that every export carries where its format has a place for it.
const ExportedBy = "bflow"

// Run is what is exported: a run directory and its report.
type Run struct {
	Dir    string
	Report *report.Report
}

// File is one file of an export. Name is relative to the folder of the export, with slashes.
type File struct {
	Name  string
	Write func(w io.Writer) error
}

// Format writes runs in one format. It returns the files of the run without writing any; a format that is one file
// returns one. A run that has nothing for the format is an error.
type Format func(run Run) ([]File, error)

// JSON returns a file that holds v, indented. A number that JSON cannot hold is an error of Write.
func JSON(name string, v any) File {
	return File{Name: name, Write: func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
		return nil
	}}
}

// JSONLines returns a file with one value per line; each is called for every line until it returns false.
func JSONLines[T any](name string, lines []T) File {
	return File{Name: name, Write: func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		for _, line := range lines {
			if err := enc.Encode(line); err != nil {
				return fmt.Errorf("writing %s: %w", name, err)
			}
		}
		return nil
	}}
}
