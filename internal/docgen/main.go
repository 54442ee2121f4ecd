// Command docgen writes the generated pages of docs: the commands, the fields of the files, and their JSON Schema. It
// must not contain descriptions of its own.
package main

//go:generate go run . ../../docs

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"bflow.dev/bflow/cmd/bflow/app"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: docgen DIR")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "docgen: %v\n", err)
		os.Exit(1)
	}
}

// write puts every generated page into dir.
func write(dir string) error {
	pages := []struct {
		file  string
		write func(io.Writer) error
	}{
		{"cli.md", markdown("the command line itself", app.Reference)},
		{"fields.md", markdown("the types of package spec", writeFields)},
		{"experiment.schema.json", writeSchema},
	}
	for _, p := range pages {
		var text bytes.Buffer
		if err := p.write(&text); err != nil {
			return fmt.Errorf("generating %s: %w", p.file, err)
		}
		if err := os.WriteFile(filepath.Join(dir, p.file), text.Bytes(), 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", p.file, err)
		}
	}
	return nil
}

// markdown puts the line before a page that says where it comes from.
func markdown(source string, page func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		if _, err := fmt.Fprintf(w, "<!-- Generated from %s by go generate ./internal/docgen: do not edit. -->\n\n",
			source); err != nil {
			return err
		}
		return page(w)
	}
}
