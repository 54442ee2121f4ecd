package external

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"bflow.dev/bflow/report/tools"
)

// documents reads the files of the given patterns that a tool has left in dir and in folders below it, one folder per
// point of a sweep. Their requests are kept on disk, in dir.
func documents(ctx context.Context, tool, dir string, patterns []string, long tools.Long) ([]tools.Document, error) {
	var docs []tools.Document
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		wanted := func(pattern string) bool {
			match, err := filepath.Match(pattern, d.Name())
			return match && err == nil
		}
		if err != nil || !d.Type().IsRegular() || !slices.ContainsFunc(patterns, wanted) {
			return err
		}
		doc, err := tools.OpenDocument(ctx, path, dir, long)
		if err == nil && doc.Broken != nil {
			err = fmt.Errorf("reading %q: %w", path, doc.Broken)
		}
		docs = append(docs, doc)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading results of %s: %w", tool, err)
	}
	if len(docs) == 0 {
		return nil, fmt.Errorf("%s left no results in %q", tool, dir)
	}
	return docs, nil
}
