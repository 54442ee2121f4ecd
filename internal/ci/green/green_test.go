package green

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestARecordIsReadBack(t *testing.T) {
	root := repository(t)
	file := filepath.Join(t.TempDir(), "green.json")
	now := Record{Rows: map[string]string{"one": commit(t, root, "a", "1")}, Beside: "b", Go: "go1"}
	if err := Write(file, now); err != nil {
		t.Fatal(err)
	}
	commit(t, root, "a", "2")
	got, err := Read(t.Context(), file, root, now)
	if err != nil || !maps.Equal(got.Rows, now.Rows) {
		t.Errorf("read %+v, %v, want %+v", got, err, now)
	}
}

func TestARowWhoseCommitIsGoneIsForgotten(t *testing.T) {
	root := repository(t)
	file := filepath.Join(t.TempDir(), "green.json")
	there := commit(t, root, "a", "1")
	gone := commit(t, root, "a", "2")
	git1(t, root, "reset", "--hard", "HEAD~1")
	now := Record{Rows: map[string]string{"one": there, "two": gone, "three": strings.Repeat("a", 40)}}
	must(t, Write(file, now))
	got, err := Read(t.Context(), file, root, now)
	if err != nil || !maps.Equal(got.Rows, map[string]string{"one": there}) {
		t.Errorf("read %+v, %v, want row one of %s alone", got, err, there)
	}
}

// TestARecordThatCannotBeReliedOnIsUnknown: each row spoils the record, or the world that it is of.
func TestARecordThatCannotBeReliedOnIsUnknown(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(t *testing.T, file, root string, now *Record)
		want  string // in the reason
	}{
		{"there is none", func(t *testing.T, file, _ string, _ *Record) { must(t, os.Remove(file)) },
			"no green commit is remembered"},
		{"it is half written", func(t *testing.T, file, _ string, _ *Record) { cut(t, file, 2) }, "is damaged"},
		{"it is empty", func(t *testing.T, file, _ string, _ *Record) { must(t, os.Truncate(file, 0)) }, "is damaged"},
		{"one letter of it has changed",
			func(t *testing.T, file, _ string, _ *Record) { replace(t, file, `"go1"`, `"go2"`) }, "is damaged"},
		{"others may have written it",
			func(t *testing.T, file, _ string, _ *Record) { must(t, os.Chmod(file, 0o666)) }, "only this user"},
		{"it is a link", func(t *testing.T, file, _ string, _ *Record) {
			must(t, os.Rename(file, file+".real"))
			must(t, os.Symlink(file+".real", file))
		}, "only this user"},
		{"it is a folder", func(t *testing.T, file, _ string, _ *Record) {
			must(t, os.Remove(file))
			must(t, os.Mkdir(file, 0o755))
		}, "only this user"},
		{"it is of another version", func(t *testing.T, file, _ string, _ *Record) {
			record := `{"version":0,"commit":"` + strings.Repeat("a", 40) + `"}`
			must(t, os.WriteFile(file, []byte(`{"record":`+record+`,"sha256":"`+digest([]byte(record))+`"}`), 0o600))
		}, "is of version 0"},
		{"its commit is an option of git", func(t *testing.T, file, _ string, now *Record) {
			must(t, Write(file, one("--upload-pack=x", *now)))
		}, "is damaged"},
		{"it is of another repository", func(t *testing.T, file, _ string, now *Record) {
			must(t, Write(file, one(strings.Repeat("a", 40), *now)))
		}, "does not hold the last green commit"},
		{"it is of no row", func(t *testing.T, file, _ string, now *Record) {
			must(t, Write(file, Record{Beside: now.Beside, Go: now.Go}))
		}, "no green row is remembered"},
		{"its commit was taken back", func(t *testing.T, file, root string, _ *Record) {
			git1(t, root, "reset", "--hard", "HEAD~1")
		}, "is no ancestor"},
		{"the toolchain is another", func(_ *testing.T, _, _ string, now *Record) { now.Go = "go2" }, "was built by go1"},
		{"what lies beside has changed", func(_ *testing.T, _, _ string, now *Record) { now.Beside = "c" },
			"beside the repository has changed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := repository(t)
			commit(t, root, "a", "1")
			file := filepath.Join(t.TempDir(), "green.json")
			now := one(commit(t, root, "a", "2"), Record{Beside: "b", Go: "go1"})
			must(t, Write(file, now))
			tt.spoil(t, file, root, &now)
			_, err := Read(t.Context(), file, root, now)
			if unknown := (UnknownError{}); !errors.As(err, &unknown) || !strings.Contains(unknown.Why, tt.want) {
				t.Errorf("read it with %v, want an UnknownError with %q", err, tt.want)
			}
		})
	}
}

// one is a record of a single row.
func one(commit string, r Record) Record {
	r.Rows = map[string]string{"one": commit}
	return r
}

func TestAFullDiskLeavesTheOldRecord(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "green.json")
	must(t, Write(file, one(strings.Repeat("a", 40), Record{})))
	if err := Write(filepath.Join(dir, "gone", "green.json"), Record{}); err == nil {
		t.Error("a record was written into no folder")
	}
	if got, err := load(file); err != nil || got.Rows["one"] != strings.Repeat("a", 40) {
		t.Errorf("the old record reads %+v, %v", got, err)
	}
}

func TestChangedNamesWhatGitKnowsAndWhatItDoesNot(t *testing.T) {
	root := repository(t)
	first := commit(t, root, "kept", "1")
	commit(t, root, "moved", "2")
	git1(t, root, "mv", "moved", "name with\ttab")
	must(t, os.WriteFile(filepath.Join(root, "kept"), []byte("other"), 0o644))
	must(t, os.WriteFile(filepath.Join(root, "new"), nil, 0o644))
	must(t, os.WriteFile(filepath.Join(root, ".gitignore"), []byte("ignored\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(root, "ignored"), nil, 0o644))
	got, err := Changed(t.Context(), root, first)
	if err != nil {
		t.Fatal(err)
	}
	if want := "kept|name with\ttab|.gitignore|new"; strings.Join(got, "|") != want {
		t.Errorf("changed %q, want %q", got, want)
	}
}

func TestTheDigestOfAFolderSeesEveryChange(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a")
	must(t, os.WriteFile(file, []byte("1"), 0o644))
	seen := map[string]string{}
	for _, change := range []struct {
		name string
		make func()
	}{
		{"nothing", func() {}},
		{"a body", func() { must(t, os.WriteFile(file, []byte("2"), 0o644)) }},
		{"a right", func() { must(t, os.Chmod(file, 0o755)) }},
		{"a name", func() { must(t, os.Rename(file, file+"b")) }},
		{"a link", func() { must(t, os.Symlink("ab", file)) }},
	} {
		change.make()
		d, err := Digest(dir)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[d]; ok {
			t.Errorf("the digest after a change of %s is that after %s", change.name, other)
		}
		seen[d] = change.name
	}
	if d, err := Digest(filepath.Join(dir, "none")); d != "" || err != nil {
		t.Errorf("the digest of no folder is %q, %v", d, err)
	}
}

func repository(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	git1(t, root, "init", "--quiet")
	return root
}

func commit(t *testing.T, root, name, body string) string {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(root, name), []byte(body), 0o644))
	git1(t, root, "add", "--all")
	git1(t, root, "-c", "user.name=a", "-c", "user.email=a@example.test", "commit", "--quiet", "--message", "c")
	head, clean, err := Head(t.Context(), root)
	if err != nil || !clean {
		t.Fatalf("head %q, clean %v, %v", head, clean, err)
	}
	return head
}

func git1(t *testing.T, root string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

func cut(t *testing.T, file string, parts int64) {
	t.Helper()
	info, err := os.Stat(file)
	must(t, err)
	must(t, os.Truncate(file, info.Size()/parts))
}

func replace(t *testing.T, file, from, to string) {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	must(t, os.WriteFile(file, []byte(strings.Replace(string(text), from, to, 1)), 0o600))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
