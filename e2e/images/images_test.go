//go:build e2e

// Package images builds images of the real programs. It takes a minute or two, so it is no unit test.
package images

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/images"
)

// maxLoadGen is what a node may have to fetch before load starts.
const maxLoadGen = 20_000_000

func build(t *testing.T, source string) *images.Layout {
	t.Helper()
	l, err := images.Build(context.Background(), filepath.Join(t.TempDir(), "oci"), images.Options{
		Source: source, Version: "v0.0.0-test", Only: []string{"load-gen", "smoketest"}, Platforms: []string{"linux/amd64"}})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// elsewhere copies the source, as it lies on disk, to a folder without git.
func elsewhere(t *testing.T, source string) string {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = source
	list, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(source, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestTheSameSourceElsewhereGivesTheSameImagesAndTheyAreSmall(t *testing.T) {
	source, err := images.FindSource(".")
	if err != nil {
		t.Fatal(err)
	}
	here, there := build(t, source), build(t, elsewhere(t, source))
	for n, i := range here.Images {
		if i.Digest != there.Images[n].Digest {
			t.Errorf("%s: %s here, %s elsewhere", i.Name, i.Digest, there.Images[n].Digest)
		}
		t.Logf("%s: %.1f MB, %s", i.Name, float64(i.Platforms[0].Size)/1e6, i.Digest)
		if i.Name == "load-gen" && i.Platforms[0].Size > maxLoadGen {
			t.Errorf("load-gen is %d bytes, want at most %d", i.Platforms[0].Size, maxLoadGen)
		}
	}
}
