package imports_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/tasks/collect"
	"bflow.dev/bflow/tasks/report/imports"
	"bflow.dev/bflow/tasks/report/tools"
)

// FuzzRead: whatever the bytes are, a reader returns a run that can be written and reported, or an error that names the file.
func FuzzRead(f *testing.F) {
	paths, err := filepath.Glob("testdata/*/*.json*")
	check(f, err)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		check(f, err)
		f.Add(filepath.Base(path), data)
	}
	f.Add("r.json", []byte(vllm+"}"))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		name = filepath.Base(strings.ToValidUTF8(strings.ReplaceAll(name, "\x00", ""), ""))
		if name == "." || name == "/" || name == ".." || len(name) > 100 {
			name = "f.json"
		}
		docs := []tools.Document{{Path: name, Data: data}}
		for _, as := range imports.Formats() {
			in, err := imports.Read(docs, as)
			if err != nil {
				if as != imports.Auto && !strings.Contains(err.Error(), "\"") {
					t.Errorf("as %s: the error names no file: %v", as, err)
				}
				continue
			}
			dir := filepath.Join(t.TempDir(), as)
			if err := imports.Write(dir, "run", in, docs); err != nil {
				t.Errorf("as %s: writing what was read: %v", as, err)
				continue
			}
			if _, err := collect.Build(dir); err != nil {
				t.Errorf("as %s: building: %v", as, err)
			}
		}
	})
}

func FuzzScrub(f *testing.F) {
	for _, seed := range []string{`{"headers":{"Authorization":"Bearer x"},"n":1.50}`, "{\"a\":1}\n{\"api_key\":\"k\"}\n", `{"request_args":"{\"headers\":{\"a\":\"b\"}}"}`, "api_key: x\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		once, _ := tools.Scrub(data)
		if twice, n := tools.Scrub(once); n != 0 || string(twice) != string(once) {
			t.Errorf("scrubbing %q twice takes out %d more: %q, %q", data, n, once, twice)
		}
	})
}
