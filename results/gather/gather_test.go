package gather_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"bflow.dev/bflow/results/checksums"
	"bflow.dev/bflow/results/gather"
	"bflow.dev/bflow/runplan/contract"

	"github.com/google/go-cmp/cmp"
)

// volume is that of a run which has ended.
func volume(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"report.json": "{}", "measurements/0/requests.jsonl.gz": "rows",
		"events.jsonl": "", ".half": "written"} {
		put(t, filepath.Join(dir, name), text)
	}
	if err := checksums.Write(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// tree are the files of a folder.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[rel] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTheCopyOfARunHoldsWhatItsVolumeDid(t *testing.T) {
	from, into := volume(t), t.TempDir()
	put(t, filepath.Join(into, ".half-run-1", "report.json"), "cut off")
	if err := gather.Copy(from, into, "run-1"); err != nil {
		t.Fatal(err)
	}
	want := tree(t, from)
	delete(want, ".half")
	if diff := cmp.Diff(want, tree(t, filepath.Join(into, "run-1"))); diff != "" {
		t.Errorf("the copy differs (-want +got):\n%s", diff)
	}
	if err := checksums.Verify(filepath.Join(into, "run-1"), nil); err != nil {
		t.Error(err)
	}
	put(t, filepath.Join(from, "report.json"), "changed later")
	if err := gather.Copy(from, into, "run-1"); err != nil || tree(t, into)["run-1/report.json"] != "{}" {
		t.Errorf("a copy that is whole was made again: %v", err)
	}
}

func TestWhatCannotBeVouchedForIsNotGathered(t *testing.T) {
	for _, row := range []struct {
		name, run string
		spoil     func(t *testing.T, from, into string)
		damaged   bool
	}{
		{name: "a file that has changed since the run ended", run: "run-1", damaged: true,
			spoil: func(t *testing.T, from, _ string) {
				put(t, filepath.Join(from, "report.json"), "forged")
			}},
		{name: "a file that is gone", run: "run-1", damaged: true, spoil: func(t *testing.T, from, _ string) {
			if err := os.Remove(filepath.Join(from, "report.json")); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "a name that leads elsewhere", run: "../run-1", spoil: func(*testing.T, string, string) {}},
		{name: "a folder that is no volume", run: "run-1", spoil: func(t *testing.T, from, _ string) {
			if err := os.RemoveAll(from); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			from, into := volume(t), t.TempDir()
			row.spoil(t, from, into)
			err := gather.Copy(from, into, row.run)
			if damaged := new(checksums.DamagedError); err == nil || errors.As(err, &damaged) != row.damaged {
				t.Errorf("error %v", err)
			}
			if left := tree(t, into); len(left) > 0 {
				t.Errorf("left are %v", left)
			}
		})
	}
}

// TestLinksAndPipesOfAVolumeAreLeftOut: whoever wrote to it is not trusted.
func TestLinksAndPipesOfAVolumeAreLeftOut(t *testing.T) {
	from, into := volume(t), t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret")
	put(t, secret, "s3cret")
	if err := errors.Join(os.Symlink(secret, filepath.Join(from, "link")),
		os.Symlink("/etc", filepath.Join(from, "folder")),
		syscall.Mkfifo(filepath.Join(from, "pipe"), 0o644)); err != nil {
		t.Fatal(err)
	}
	if err := gather.Copy(from, into, "run-1"); err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range tree(t, into) {
		names = append(names, name)
	}
	if len(names) != 3+1 || tree(t, into)["run-1/"+contract.FileChecksums] == "" {
		t.Errorf("gathered are %v", names)
	}
}
