package imports

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/registry"
	"bflow.dev/bflow/report/tools"
)

// Auto finds the format by the shape of the files.
const Auto = "auto"

// format is a tool whose files can be read.
type format struct {
	name string
	tool.Results
}

func formats() (all []format) {
	for _, t := range registry.All() {
		if r := t.Results(); r.Read != nil {
			all = append(all, format{t.Definition().Name, r})
		}
	}
	return all
}

// Formats returns the names of all formats, Auto first.
func Formats() []string {
	names := []string{Auto}
	for _, f := range formats() {
		names = append(names, f.name)
	}
	return names
}

// Long says whether a list may hold an element for each request in a file of any tool.
func Long(path string) bool {
	return slices.ContainsFunc(formats(), func(f format) bool { return f.Long != nil && f.Long(path) })
}

// Open reads files, without what may be secret in them; of a folder it takes the files that a tool writes results into,
// sorted by name, with those of its direct sub-folders. Requests that hold secrets are kept aside in scratch without
// them, in a folder on a disk with room for all of them; the others are read where they are.
func Open(ctx context.Context, paths []string, scratch string) ([]tools.Document, error) {
	var docs []tools.Document
	for _, path := range paths {
		found := []string{path}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			if found = results(path); len(found) == 0 {
				return nil, fmt.Errorf("reading %q: the folder has no .json, .jsonl or config.yaml", path)
			}
		}
		for _, p := range found {
			doc, err := tools.OpenDocument(ctx, p, scratch, Long)
			if err != nil {
				return nil, err
			}
			docs = append(docs, doc)
		}
	}
	return docs, nil
}

func results(dir string) []string {
	var out []string
	for _, pattern := range []string{"*", "*/*"} {
		found, _ := filepath.Glob(filepath.Join(dir, pattern)) // the only error is a bad pattern
		for _, p := range found {
			switch base := filepath.Base(p); {
			case base == "config.yaml", strings.HasSuffix(base, ".json"), strings.HasSuffix(base, ".jsonl"):
				out = append(out, p)
			}
		}
		if len(out) > 0 {
			break
		}
	}
	slices.Sort(out)
	return out
}

// Read reads documents of one tool; as names its format, or is Auto.
func Read(ctx context.Context, docs []tools.Document, as string) (*tools.Imported, error) {
	if len(docs) == 0 {
		return nil, fmt.Errorf("reading results: there is no file")
	}
	for _, f := range formats() {
		if as != Auto && as != "" && as != f.name {
			continue
		}
		mine := slices.DeleteFunc(slices.Clone(docs), func(d tools.Document) bool { return !f.Looks(d) && !beside(d) })
		if as == f.name {
			mine = docs
		}
		if !slices.ContainsFunc(mine, f.Looks) && as != f.name {
			continue
		}
		for _, d := range mine {
			if d.Broken != nil {
				return nil, unreadable(d)
			}
		}
		return f.Read(ctx, mine)
	}
	if !slices.Contains(Formats(), as) && as != "" {
		return nil, fmt.Errorf("choosing a format: unknown format %q; want one of %s", as, strings.Join(Formats(), ", "))
	}
	if docs[0].Broken != nil {
		return nil, unreadable(docs[0])
	}
	return nil, fmt.Errorf(
		"reading %q: it matches no known format (%s); name one with --as to see what it lacks",
		docs[0].Path, strings.Join(Formats()[1:], ", "))
}

func unreadable(d tools.Document) error {
	if filepath.Ext(d.Path) == ".json" {
		return fmt.Errorf("reading %q: it is not a complete JSON document: %w", d.Path, d.Broken)
	}
	return fmt.Errorf("reading %q: %w", d.Path, d.Broken)
}

// beside says whether a document belongs to results without being one.
func beside(d tools.Document) bool { return filepath.Base(d.Path) == "config.yaml" }
