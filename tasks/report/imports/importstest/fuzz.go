// Package importstest checks what a reader of other tools' files makes of any bytes. It is used by the fuzz tests of
// the formats, which lie beside them so that their binaries are small.
package importstest

import (
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/tasks/report/imports"
	"bflow.dev/bflow/tasks/report/tools"
)

// Read reads data as format. It fails t where an error names no file, or where what was read cannot be written.
func Read(t *testing.T, format, name string, data []byte) {
	t.Helper()
	docs := []tools.Document{tools.NewDocument(name, data)}
	in, err := imports.Read(docs, format)
	if err != nil {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("the error names no file: %v", err)
		}
		return
	}
	dir := filepath.Join(t.TempDir(), "run")
	if err := imports.Write(dir, "run", in, docs); err != nil {
		t.Errorf("writing what was read: %v", err)
	}
}
