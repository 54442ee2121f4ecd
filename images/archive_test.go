package images

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

func makeArchive(t *testing.T, l *Layout, platform string) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := l.Archive(&out, platform); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestDockerReadsAnArchive(t *testing.T) {
	data := makeArchive(t, makeLayout(t, "a"), "linux/arm64")
	for _, image := range []string{"collect", "sim-engine"} {
		tag, err := name.NewTag("localhost/bflow/" + image + ":v0.1.0-7")
		if err != nil {
			t.Fatal(err)
		}
		img, err := tarball.Image(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }, &tag)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Image(img); err != nil {
			t.Error(err)
		}
		cfg, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if cfg.Architecture != "arm64" || !slices.Equal(cfg.Config.Entrypoint, []string{"/" + image}) {
			t.Errorf("%s: %s, %v", image, cfg.Architecture, cfg.Config.Entrypoint)
		}
	}
}

func TestContainerdFindsEachImageByTagAndByDigest(t *testing.T) {
	l := makeLayout(t, "a")
	files := untar(t, makeArchive(t, l, "linux/amd64"))
	var index v1.IndexManifest
	if err := json.Unmarshal(files["index.json"], &index); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range index.Manifests {
		names = append(names, d.Annotations["io.containerd.image.name"])
		if files["blobs/sha256/"+d.Digest.Hex] == nil {
			t.Errorf("%s is not in the archive", d.Digest)
		}
	}
	var want []string
	for _, i := range l.Images {
		want = append(want, i.Ref, strings.TrimSuffix(i.Ref, ":v0.1.0-7")+"@"+i.Digest.String())
	}
	if !slices.Equal(names, want) || files["oci-layout"] == nil {
		t.Errorf("got %q, want %q", names, want)
	}
	other := l.Images[0].Platforms[1]
	if other.Platform != "linux/arm64" || files["blobs/sha256/"+other.Digest.Hex] != nil {
		t.Errorf("an archive of amd64 holds %s", other.Platform)
	}
	if err := l.Archive(io.Discard, "linux/riscv64"); err == nil ||
		!strings.Contains(err.Error(), "it was not built for it") {
		t.Errorf("another platform: %v", err)
	}
}

func untar(t *testing.T, data []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}
