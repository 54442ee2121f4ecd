package app

import (
	"bytes"
	"context"
	"io"
	"log"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/images"
	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/pipelines/bundle"
	"bflow.dev/bflow/runplan/contract"
)

// TestImagesAreCalledAsRunsCallThem: where a plan names no image, compile makes up the name that images build gives.
func TestImagesAreCalledAsRunsCallThem(t *testing.T) {
	if images.LocalPrefix != compile.DefaultImagePrefix {
		t.Errorf("prefix %q and %q", images.LocalPrefix, compile.DefaultImagePrefix)
	}
	for _, version := range []string{"dev", "v0.1.0", "v0.1.0-3-gabc1234-dirty", "v1.0.0+build.7"} {
		if a, b := images.Tag(version), compile.Tag(version); a != b {
			t.Errorf("%s: tags %q and %q", version, a, b)
		}
	}
}

// bflow runs the command line in this process and returns what it printed.
func bflow(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := Main(context.Background(), Streams{Out: &out, Err: &errs},
		append([]string{"bflow"}, args...)); code != contract.ExitPass {
		t.Fatalf("bflow %s: exit code %d\n%s", strings.Join(args, " "), code, errs.String())
	}
	return out.String()
}

// TestFromSourceToARunOfABundle goes the way of the guide, with a registry in memory and one small program.
func TestFromSourceToARunOfABundle(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                "module bflow.dev/bflow\n\ngo 1.26.0\n",
		"tasks/step/version.go": "package step\n\nvar Version string\n",
		"cmd/load-gen/main.go": "package main\n\nimport \"bflow.dev/bflow/tasks/step\"\n\nfunc main() { " +
			"println(step.Version) }\n",
		"first.yaml": anExperiment,
	} {
		if err := durable.WriteFile(filepath.Join(dir, name), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	lockFile := filepath.Join(dir, "lock.yaml")
	bflow(t, "images", "build", "--source", dir, "--only", "load-gen", "--platform", "linux/arm64", "--out",
		filepath.Join(dir, "out"))
	pushed := strings.TrimSpace(
		bflow(t, "images", "push", "--from", filepath.Join(dir, "out"), "--prefix", host+"/team", "--lock", lockFile))
	if again := strings.TrimSpace(bflow(t, "images", "push", "--source", dir, "--only", "load-gen", "--platform",
		"linux/arm64", "--prefix", host+"/team", "--lock", lockFile)); again != pushed {
		t.Errorf("built again it is %s, not %s", again, pushed)
	}
	ref := strings.TrimSpace(bflow(t, "bundle", "push", host+"/team/tasks:v1", "--lock", lockFile))
	if objects := bflow(t, "compile", filepath.Join(dir, "first.yaml"), "--no-queue", "--bundle", ref, "--lock",
		lockFile); !strings.Contains(objects, ref) || strings.Contains(objects, "kind: Task") {
		t.Errorf("compiled for the bundle:\n%s", objects)
	}
	if text := bundled(t, ref); !strings.Contains(text, pushed) {
		t.Errorf("the bundle does not name %s", pushed)
	}
}

const anExperiment = `apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: first}
spec:
  model: {name: demo/tiny}
  deployment_profile: sim
  stages: {collect: false}
  load: {data: {input: 32, output: 8}, stages: [{rate: 20, duration: 5s}]}
`

// bundled is everything in a bundle.
func bundled(t *testing.T, ref string) string {
	t.Helper()
	at, err := name.ParseReference(ref)
	if err != nil {
		t.Fatal(err)
	}
	img, err := remote.Image(at)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := bundle.Read(img)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, e := range entries {
		all.Write(e.Text)
	}
	return all.String()
}
