package durable_test

import (
	"os"
	"path/filepath"
	"testing"

	"bflow.dev/bflow/internal/durable"

	"github.com/google/go-cmp/cmp"
)

// tree are the files below dir with what they hold.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAFailedWriteLeavesTheOldContentAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "b.json")
	for name, write := range map[string]func(string, any) error{
		"durably": durable.WriteJSON, "replacing": durable.ReplaceJSON,
	} {
		if err := write(path, "old"); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := write(path, func() {}); err == nil {
			t.Errorf("%s: a function has no JSON", name)
		}
		if err := write(filepath.Join(path, "below-a-file"), nil); err == nil {
			t.Errorf("%s: a file is no folder", name)
		}
		if diff := cmp.Diff(map[string]string{"a/b.json": "\"old\"\n"}, tree(t, dir)); diff != "" {
			t.Errorf("%s: files (-want +got):\n%s", name, diff)
		}
	}
}

func TestAStreamIsAFileOnceItIsWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "rows")
	for _, row := range []struct {
		name, text string
		commit     bool
		want       map[string]string
	}{
		{"one that is given up leaves nothing", "a", false, map[string]string{}},
		{"one that is whole has its name", "b", true, map[string]string{"rows": "b"}},
		{"another one that is given up leaves it as it was", "c", false, map[string]string{"rows": "b"}},
		{"another one that is whole takes its place", "d", true, map[string]string{"rows": "d"}},
	} {
		f, err := durable.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(row.text); err != nil {
			t.Fatal(err)
		}
		if row.commit {
			if err := f.Commit(); err != nil {
				t.Errorf("%s: %v", row.name, err)
			}
		}
		f.Discard()
		if diff := cmp.Diff(row.want, tree(t, dir)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}

func TestFoldersAndTreesAreBroughtToDisk(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "a", "b", "c")
	for range 2 {
		if err := durable.MkdirAll(deep); err != nil {
			t.Fatal(err)
		}
	}
	f, err := durable.AppendGrowing(filepath.Join(deep, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Symlink("nowhere", filepath.Join(deep, "link")); err != nil {
		t.Fatal(err)
	}
	if err := durable.SyncTree(dir); err != nil {
		t.Error(err)
	}
	if err := durable.Rename(filepath.Join(deep, "log"), filepath.Join(dir, "a", "log")); err != nil {
		t.Error(err)
	}
	if err := durable.MkdirAll(filepath.Join(dir, "a", "log")); err == nil {
		t.Error("a file is taken for a folder")
	}
	if err := durable.SyncTree(filepath.Join(dir, "missing")); err == nil {
		t.Error("a folder that is not there is taken for one on disk")
	}
}
