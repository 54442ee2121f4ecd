package images

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Annotations of the entries of index.json.
const (
	annotationName       = "bflow.dev/image"    // name of the binary; on documents too
	annotationVersion    = "bflow.dev/version"  // of bflow
	annotationRevision   = "bflow.dev/revision" // of the source
	annotationRefName    = "org.opencontainers.image.ref.name"
	annotationContainerd = "io.containerd.image.name" // what containerd and docker call an image they import
)

// writer fills a layout.
type writer struct {
	path layout.Path
}

// create starts a layout in dir. What an earlier build left there goes; anything else is refused, because nobody wants
// to lose it.
func create(dir string) (*writer, error) {
	if err := clear(dir); err != nil {
		return nil, fmt.Errorf("writing images to %q: %w", dir, err)
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return nil, fmt.Errorf("writing images to %q: %w", dir, err)
	}
	w := &writer{path: path}
	if err := os.MkdirAll(w.blobs(), 0o755); err != nil {
		return nil, fmt.Errorf("writing images to %q: %w", dir, err)
	}
	return w, nil
}

// clear removes the parts of a layout from dir.
func clear(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	parts := map[string]bool{"oci-layout": true, "index.json": true, "blobs": true}
	for _, e := range entries {
		if !parts[e.Name()] {
			return fmt.Errorf("it holds %q; name an empty folder", e.Name())
		}
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// blobs is the folder of the layout's blobs.
func (w *writer) blobs() string { return filepath.Join(string(w.path), "blobs", "sha256") }

// addIndex adds an image of several platforms.
func (w *writer) addIndex(idx v1.ImageIndex, annotations map[string]string) error {
	return w.path.AppendIndex(idx, layout.WithAnnotations(annotations))
}

// attach adds a document about subject, which belongs to the image of a binary.
func (w *writer) attach(name string, kind types.MediaType, document []byte, subject partial.Describable) error {
	artifact, err := newArtifact(kind, document, subject)
	if err != nil {
		return err
	}
	return w.path.AppendImage(artifact, layout.WithAnnotations(map[string]string{annotationName: name}))
}
