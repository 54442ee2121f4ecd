// Package importstest checks that a reader of other tools' files handles arbitrary bytes. It serves the fuzz tests of
// the formats, which are in the packages of the formats so that their binaries stay small.
package importstest

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/report/imports"
	"bflow.dev/bflow/report/tools"
)

// Read reads data as format. It fails t where an error names no file, or where what was read cannot be written.
func Read(t *testing.T, format, name string, data []byte) {
	t.Helper()
	doc, err := tools.ReadDocument(t.Context(), name, bytes.NewReader(data), t.TempDir(), imports.Long)
	if err != nil {
		t.Fatal(err)
	}
	docs := []tools.Document{doc}
	in, err := imports.Read(t.Context(), docs, format)
	if err != nil {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("the error names no file: %v", err)
		}
		return
	}
	dir := filepath.Join(t.TempDir(), "run")
	var malformed *tools.FormatError
	switch _, err := imports.Write(t.Context(), dir, "run", in, docs); {
	case err == nil:
	case !errors.As(err, &malformed) || !strings.Contains(err.Error(), name):
		t.Errorf("writing what was read: %v", err)
	}
}
