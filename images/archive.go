package images

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Archive writes the images of one platform as a tarball that both `ctr images import` and `docker load` read, for
// nodes that no registry reaches. Each image has two names there: by tag and by digest, because a node looks for what a
// pod names, and plans name digests.
func (l *Layout) Archive(out io.Writer, platform string) error {
	a := archive{tar: tar.NewWriter(out), blobs: filepath.Join(l.dir, "blobs", "sha256"), done: map[v1.Hash]bool{}}
	for _, img := range l.Images {
		if err := a.addImage(img, platform); err != nil {
			return fmt.Errorf("writing the archive of %s: image %q: %w", platform, img.Name, err)
		}
	}
	if err := a.close(); err != nil {
		return fmt.Errorf("writing the archive of %s: %w", platform, err)
	}
	return nil
}

// archive is an OCI layout as a tarball, with the list that docker reads beside it.
type archive struct {
	tar   *tar.Writer
	blobs string
	done  map[v1.Hash]bool
	index []v1.Descriptor
	list  []dockerImage
}

// dockerImage is an entry of manifest.json.
type dockerImage struct {
	Config   string
	RepoTags []string
	Layers   []string
}

func (a *archive) addImage(img Image, platform string) error {
	n := slices.IndexFunc(img.Platforms, func(v Variant) bool { return v.Platform == platform })
	if n < 0 {
		return errors.New("it was not built for it")
	}
	one, err := img.index.Image(img.Platforms[n].Digest)
	if err != nil {
		return err
	}
	m, err := one.Manifest()
	if err != nil {
		return err
	}
	entry := dockerImage{Config: blobName(m.Config.Digest), RepoTags: []string{img.Ref}}
	digests := []v1.Hash{img.Digest, img.Platforms[n].Digest, m.Config.Digest}
	for _, layer := range m.Layers {
		entry.Layers = append(entry.Layers, blobName(layer.Digest))
		digests = append(digests, layer.Digest)
	}
	for _, digest := range digests {
		if err := a.addBlob(digest); err != nil {
			return err
		}
	}
	a.list = append(a.list, entry)
	size, err := img.index.Size()
	if err != nil {
		return err
	}
	for _, name := range []string{img.Ref, img.lock(img.Ref).Pinned()} {
		a.index = append(a.index, v1.Descriptor{MediaType: types.OCIImageIndex, Digest: img.Digest, Size: size,
			Annotations: map[string]string{annotationContainerd: name}})
	}
	return nil
}

func blobName(h v1.Hash) string { return path.Join("blobs", h.Algorithm, h.Hex) }

// addBlob adds a blob of the layout once.
func (a *archive) addBlob(h v1.Hash) error {
	if a.done[h] {
		return nil
	}
	a.done[h] = true
	f, err := os.Open(filepath.Join(a.blobs, h.Hex))
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return tarFile(a.tar, blobName(h), info.Size(), f)
}

func (a *archive) close() error {
	if err := tarJSON(a.tar, "manifest.json", a.list); err != nil {
		return err
	}
	return closeLayout(a.tar, a.index)
}

// closeLayout ends a layout in a tarball with the files at its top.
func closeLayout(t *tar.Writer, index []v1.Descriptor) error {
	if err := tarJSON(t, "index.json",
		v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: index}); err != nil {
		return err
	}
	if err := tarJSON(t, "oci-layout", map[string]string{"imageLayoutVersion": "1.0.0"}); err != nil {
		return err
	}
	return t.Close()
}

func tarJSON(t *tar.Writer, name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return tarFile(t, name, int64(len(text)), bytes.NewReader(text))
}

func tarFile(t *tar.Writer, name string, size int64, content io.Reader) error {
	h := &tar.Header{
		Name: name, Mode: 0o644, Size: size, Typeflag: tar.TypeReg, ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR,
	}
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err := io.Copy(t, content)
	return err
}
