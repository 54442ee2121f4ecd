package runplan

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadReturnsWhatWasWritten(t *testing.T) {
	want := full(t)
	b, err := Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{FileJSON: b, FileGzip: packed(t, b)} {
		got, err := Read(folderWith(t, name, content))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestReadTakesTheOldSpellingOfTheVersion(t *testing.T) {
	b, err := Marshal(full(t))
	if err != nil {
		t.Fatal(err)
	}
	old := bytes.Replace(b, []byte(`"apiVersion"`), []byte(`"api_version"`), 1)
	if _, err := Read(folderWith(t, FileJSON, old)); err != nil {
		t.Error(err)
	}
}

func TestReadRefuses(t *testing.T) {
	b, err := Marshal(full(t))
	if err != nil {
		t.Fatal(err)
	}
	good := string(b)
	for _, row := range []struct{ name, file, content, want string }{
		{"a changed plan", FileJSON, strings.Replace(good, `"samples":7`, `"samples":8`, 1), "does not match its content"},
		{"an unknown field", FileJSON, `{"speed":1,` + good[1:], `unknown field "speed"`},
		{"another kind", FileJSON, strings.Replace(good, `"RunPlan"`, `"Experiment"`, 1), `kind is "Experiment"`},
		{"another version", FileJSON, strings.Replace(good, "v1alpha1", "v9", 1), `apiVersion is "benchflow.io/v9"`},
		{"two documents", FileJSON, good + "{}", "more after the document"},
		{"text", FileJSON, "hello", "decoding a RunPlan"},
		{"an empty file", FileJSON, "", "decoding a RunPlan"},
		{"null", FileJSON, "null", "kind is"},
		{"a broken archive", FileGzip, "hello", "unpacking plan.json.gz"},
		{"a folder without a plan", "other", "", "neither plan.json nor plan.json.gz is there"},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, err := Read(folderWith(t, row.file, []byte(row.content)))
			if err == nil || !strings.Contains(err.Error(), row.want) || p != nil {
				t.Errorf("plan %v, error %v, want one with %q", p, err, row.want)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"benchflow.io/v1alpha1","kind":"RunPlan","index":1}`))
	f.Add([]byte(`{"api_version":"bflow.dev/v1alpha1","kind":"RunPlan","measurements":[{"api":{"timeout":"1s"}}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Decode(b)
		if err != nil {
			return
		}
		if err := Identify(p); err == nil {
			if err := Verify(p); err != nil {
				t.Error(err)
			}
		}
	})
}

func folderWith(t *testing.T, name string, content []byte) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func packed(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
