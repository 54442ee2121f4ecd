// Package bundle writes and reads Tekton bundles: OCI images with one object per layer.
//
// It must not know what the objects are for: package content does.
package bundle

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Annotations that every layer of a bundle has.
const (
	AnnotationName       = "dev.tekton.image.name"
	AnnotationKind       = "dev.tekton.image.kind" // lower case, singular
	AnnotationAPIVersion = "dev.tekton.image.apiVersion"
)

// Limits of readers. Tekton refuses more objects. tkn and older resolvers take what one read of the unpacked layer
// gives them: 32 KiB, of which the tar header has 512 bytes, and lose the rest without a word.
const (
	MaxObjects = 20
	MaxSize    = 32<<10 - 512
)

// Image returns the bundle of objects. Equal objects in equal order are equal images.
func Image(objects []runtime.Object) (v1.Image, error) {
	if len(objects) > MaxObjects {
		return nil, fmt.Errorf("bundling %d objects: Tekton reads at most %d", len(objects), MaxObjects)
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	seen := map[string]bool{}
	for _, object := range objects {
		add, err := addendum(object)
		if err != nil {
			return nil, err
		}
		key := add.Annotations[AnnotationKind] + "/" + add.Annotations[AnnotationName]
		if seen[key] {
			return nil, fmt.Errorf("bundling %s: it is there twice", key)
		}
		seen[key] = true
		if img, err = mutate.Append(img, add); err != nil {
			return nil, fmt.Errorf("bundling %s: %w", key, err)
		}
	}
	old, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(img, &v1.ConfigFile{RootFS: old.RootFS, Created: v1.Time{Time: time.Unix(0, 0).UTC()}})
}

// addendum is the layer of one object: a compressed tar of one file, JSON without spaces.
func addendum(object runtime.Object) (mutate.Addendum, error) {
	meta, ok := object.(metav1.Object)
	gvk := object.GetObjectKind().GroupVersionKind()
	if !ok || meta.GetName() == "" || gvk.Kind == "" {
		return mutate.Addendum{}, fmt.Errorf("bundling a %T: it needs apiVersion, kind and name", object)
	}
	name := strings.ToLower(gvk.Kind) + "/" + meta.GetName()
	text, err := json.Marshal(object)
	if err != nil {
		return mutate.Addendum{}, fmt.Errorf("bundling %s: %w", name, err)
	}
	if len(text) > MaxSize {
		return mutate.Addendum{}, fmt.Errorf("bundling %s: it is %d bytes, tkn reads at most %d", name, len(text), MaxSize)
	}
	packed, err := pack(meta.GetName(), text)
	if err != nil {
		return mutate.Addendum{}, fmt.Errorf("bundling %s: %w", name, err)
	}
	layer, err := tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed)), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return mutate.Addendum{}, fmt.Errorf("bundling %s: %w", name, err)
	}
	return mutate.Addendum{Layer: layer, MediaType: types.OCILayer, Annotations: map[string]string{
		AnnotationName: meta.GetName(), AnnotationKind: strings.ToLower(gvk.Kind),
		AnnotationAPIVersion: gvk.GroupVersion().String(),
	}}, nil
}

func pack(name string, text []byte) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	t := tar.NewWriter(z)
	h := &tar.Header{
		Name: name, Mode: 0o600, Size: int64(len(text)), Typeflag: tar.TypeReg, ModTime: time.Unix(0, 0),
		Format: tar.FormatUSTAR,
	}
	if err := t.WriteHeader(h); err != nil {
		return nil, err
	}
	if _, err := t.Write(text); err != nil {
		return nil, err
	}
	err = errors.Join(t.Close(), z.Close())
	return out.Bytes(), err
}
