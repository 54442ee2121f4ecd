package images

import (
	"archive/tar"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"bflow.dev/bflow/internal/leakcheck"
	"bflow.dev/bflow/runplan/contract"
)

// makeSource writes a module with bflow's path and two small programs, which say more.
func makeSource(t *testing.T, more string) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"go.mod":                "module " + Module + "\n\ngo 1.26.0\n",
		"tasks/step/version.go": "package step\n\nvar Version = \"dev\"\n",
		"cmd/collect/main.go": "package main\n\nimport \"" + Module +
			"/tasks/step\"\n\nfunc main() { println(step.Version, \"" + more + "\") }\n",
		"cmd/sim-engine/main.go": "package main\n\nfunc main() { println(\"engine\") }\n",
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// built are layouts that tests share, by what their program says. Nobody writes to one that is there.
var built = map[string]*Layout{}

// shared is their folder.
var shared string

func TestMain(m *testing.M) {
	var err error
	if shared, err = os.MkdirTemp("", "bflow-images-test-"); err != nil {
		panic(err)
	}
	code := leakcheck.Around(m).Run()
	os.RemoveAll(shared)
	os.Exit(code)
}

// makeLayout returns the images of makeSource.
func makeLayout(t *testing.T, more string) *Layout {
	t.Helper()
	if built[more] == nil {
		built[more] = makeLayoutAnew(t, more, filepath.Join(shared, more))
	}
	return built[more]
}

func makeLayoutAnew(t *testing.T, more, dir string) *Layout {
	t.Helper()
	l, err := Build(context.Background(), dir, Options{
		Source: makeSource(t, more), Version: "v0.1.0+7", Only: []string{"sim-engine", "collect"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestTheSameSourceInAnotherFolderGivesTheSameImages(t *testing.T) {
	a, b, changed := makeLayout(t, "a"), makeLayoutAnew(t, "a", filepath.Join(t.TempDir(), "oci")), makeLayout(t, "b")
	if len(a.Images) != 2 || a.Images[0].Name != "collect" || a.Images[1].Name != "sim-engine" {
		t.Fatalf("images are %+v", a.Images)
	}
	for n := range a.Images {
		if a.Images[n].Digest != b.Images[n].Digest {
			t.Errorf("%s: %s and %s", a.Images[n].Name, a.Images[n].Digest, b.Images[n].Digest)
		}
	}
	if a.Images[0].Digest == changed.Images[0].Digest {
		t.Error("another program has the same digest")
	}
	if a.Images[1].Digest != changed.Images[1].Digest {
		t.Error("the image of a program that did not change did")
	}
	if left, right := tree(t, a.dir), tree(t, b.dir); !slices.Equal(left, right) {
		t.Errorf("layouts differ:\n%s\n%s", strings.Join(left, "\n"), strings.Join(right, "\n"))
	}
}

// tree lists the files of a folder: the names of blobs are their digests.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			files = append(files, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestAnImageIsAProgramOnAnEmptyBase(t *testing.T) {
	l := makeLayout(t, "a")
	for _, v := range l.Images[0].Platforms {
		img, err := l.Images[0].index.Image(v.Digest)
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if cfg.OS+"/"+cfg.Architecture != v.Platform || cfg.Config.User != "65532:65532" ||
			!slices.Equal(cfg.Config.Entrypoint, []string{"/collect"}) || len(cfg.Config.Cmd) > 0 {
			t.Errorf("%s: config %+v", v.Platform, cfg)
		}
		if cfg.Config.Labels["org.opencontainers.image.version"] != "v0.1.0+7" || cfg.Created.Unix() != 0 ||
			len(cfg.History) != 0 {
			t.Errorf("%s: labels %v, made %s, history %v", v.Platform, cfg.Config.Labels, cfg.Created, cfg.History)
		}
		checkFiles(t, img)
	}
	if got := l.Images[0].Ref; got != "localhost/bflow/collect:v0.1.0-7" {
		t.Errorf("it is called %s", got)
	}
}

// checkFiles wants exactly the files that a program of ours needs.
func checkFiles(t *testing.T, img v1.Image) {
	t.Helper()
	want := map[string]int64{
		"etc/": 0o755, "etc/group": 0o644, "etc/passwd": 0o644, "etc/ssl/": 0o755, "etc/ssl/certs/": 0o755,
		certificates: 0o644, "tmp/": 0o1777, "collect": 0o755,
	}
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range layers {
		plain, err := l.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		defer plain.Close()
		for r := tar.NewReader(plain); ; {
			h, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if mode, ok := want[h.Name]; !ok || h.Mode != mode || h.Uid != 0 || h.ModTime.Unix() != 0 {
				t.Errorf("%s: mode %o, owner %d, time %s", h.Name, h.Mode, h.Uid, h.ModTime)
			}
			delete(want, h.Name)
			if h.Name == certificates {
				checkCertificates(t, r)
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

func checkCertificates(t *testing.T, r io.Reader) {
	t.Helper()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil || !cert.IsCA {
			t.Errorf("certificate %d is no authority: %v", n, err)
		}
		n++
	}
	if n < minRoots {
		t.Errorf("only %d certificates", n)
	}
}

func TestEveryTaskHasAnImage(t *testing.T) {
	var names []string
	for _, b := range Binaries() {
		names = append(names, b.Name)
		if b.About == "" {
			t.Errorf("%s has no description", b.Name)
		}
		if b.Name == "bflow-controller" {
			continue // its folder is looked for by the build
		}
		if _, err := os.Stat(filepath.Join("..", "cmd", b.Name)); err != nil {
			t.Error(err)
		}
	}
	if !slices.IsSorted(names) {
		t.Errorf("%q is not sorted", names)
	}
	for _, name := range contract.Binaries() {
		if !slices.Contains(names, name) {
			t.Errorf("task %s has no image", name)
		}
	}
}

func TestWhatCannotBeBuiltIsSaid(t *testing.T) {
	source := makeSource(t, "a")
	taken := t.TempDir()
	if err := os.WriteFile(filepath.Join(taken, "thesis.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	rows := []struct {
		name, want, dir string
		o               Options
	}{
		{"an unknown image", `there is no "engine"; there are bflow, `, "",
			Options{Source: source, Version: "v1", Only: []string{"engine"}}},
		{"an unknown platform", `for "linux/s390x": want linux/amd64 or linux/arm64`, "",
			Options{Source: source, Version: "v1", Platforms: []string{"linux/s390x"}}},
		{"a version that is no word", `of version "a b"`, "", Options{Source: source, Version: "a b"}},
		{"a folder with other things", `it holds "thesis.txt"`, taken, Options{Source: source, Version: "v1"}},
		{"a program that does not compile", "compiling load-gen for linux/amd64", "",
			Options{Source: source, Version: "v1", Only: []string{"load-gen"}, Platforms: []string{"linux/amd64"}}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			if row.dir == "" {
				row.dir = t.TempDir()
			}
			if _, err := Build(context.Background(), row.dir, row.o); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %s", err, row.want)
			}
		})
	}
}

func TestTheSourceIsFoundFromInside(t *testing.T) {
	source := makeSource(t, "a")
	got, err := FindSource(filepath.Join(source, "cmd", "collect"))
	if err != nil || got != source {
		t.Errorf("got %q, %v; want %q", got, err, source)
	}
	if _, err := FindSource(t.TempDir()); !errors.Is(err, ErrNoSource) {
		t.Errorf("outside: %v", err)
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "bflow images build --out") {
		t.Errorf("no layout: %v", err)
	}
}
