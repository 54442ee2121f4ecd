package mirror

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestImage(t *testing.T) {
	for _, row := range []struct {
		name, ref, want string
		mirror          Mirror
	}{
		{name: "no mirror changes nothing", ref: "ghcr.io/a/b:v1", want: "ghcr.io/a/b:v1"},
		{name: "a registry takes the place of the host", ref: "ghcr.io/a/b:v1", mirror: Mirror{Registry: "10.0.0.1:5000"},
			want: "10.0.0.1:5000/a/b:v1"},
		{name: "a registry may have a path", ref: "registry.k8s.io/k/k@sha256:1",
			mirror: Mirror{Registry: "reg.example/mirror/"}, want: "reg.example/mirror/k/k@sha256:1"},
		{name: "a name without a host keeps its whole path", ref: "library/busybox:1",
			mirror: Mirror{Registry: "reg.example"}, want: "reg.example/library/busybox:1"},
		{name: "localhost is a host", ref: "localhost/b/c:1", mirror: Mirror{Registry: "reg.example"},
			want: "reg.example/b/c:1"},
		{name: "the map names one image", ref: "cgr.dev/c/busybox@sha256:1",
			mirror: Mirror{Map: map[string]string{"cgr.dev/c/busybox@sha256:1": "docker.io/library/busybox:1.35"}},
			want:   "docker.io/library/busybox:1.35"},
		{name: "the map names a repository: tag or digest stay", ref: "ghcr.io/a/b:v1",
			mirror: Mirror{Map: map[string]string{"ghcr.io/a/b": "reg.example/b"}}, want: "reg.example/b:v1"},
		{name: "unless the map has a tag of its own", ref: "cgr.dev/c/busybox@sha256:1",
			mirror: Mirror{Map: map[string]string{"cgr.dev/c/busybox": "reg.example:5000/busybox:1.35"}},
			want:   "reg.example:5000/busybox:1.35"},
		{name: "a port is no tag", ref: "host:5000/a/b", mirror: Mirror{
			Map: map[string]string{"host:5000/a/b": "reg.example/b"}}, want: "reg.example/b"},
		{name: "of prefixes the longest fits", ref: "ghcr.io/a/b:v1",
			mirror: Mirror{Map: map[string]string{"ghcr.io/": "x/", "ghcr.io/a/": "y/"}}, want: "y/b:v1"},
		{name: "the map goes before the registry", ref: "ghcr.io/a/b:v1",
			mirror: Mirror{Registry: "reg.example", Map: map[string]string{"ghcr.io/": "x/"}}, want: "x/a/b:v1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := row.mirror.Image(row.ref); got != row.want {
				t.Errorf("%s becomes %s, want %s", row.ref, got, row.want)
			}
		})
	}
}

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  template:
    spec:
      initContainers: [{name: i, image: ghcr.io/a/init:v1}]
      containers:
      - {name: c, image: ghcr.io/a/main:v1, args: ["-nop-image", "ghcr.io/a/nop:v1", "-shell-image-win", "mcr.microsoft.com/p@sha256:1", "-other", "ghcr.io/a/b"]}
`

func TestRewriteFindsContainersAndFlags(t *testing.T) {
	var u unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(deployment), &u.Object); err != nil {
		t.Fatal(err)
	}
	out := Mirror{Registry: "reg.example"}.Rewrite([]*unstructured.Unstructured{&u})
	want := []string{"reg.example/a/nop:v1", "reg.example/p@sha256:1", "reg.example/a/main:v1", "reg.example/a/init:v1"}
	if got := Images(out[0]); !slices.Equal(got, want) {
		t.Errorf("images are %q, want %q", got, want)
	}
	if Images(&u)[0] != "ghcr.io/a/nop:v1" {
		t.Error("the given object was changed")
	}
}

func TestReadMap(t *testing.T) {
	file := filepath.Join(t.TempDir(), "map.yaml")
	if err := os.WriteFile(file, []byte("- a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadMap(file); err == nil || !strings.Contains(err.Error(), "FROM: TO") {
		t.Errorf("a list is taken for a map: %v", err)
	}
	if m, err := ReadMap(""); m != nil || err != nil {
		t.Errorf("no file gives %v, %v", m, err)
	}
}
