package images

import (
	"fmt"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// labels describe an image. The commit is not among them: a change of a comment elsewhere makes no other image. It is
// in the provenance.
func labels(b Binary, version string) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       b.Name,
		"org.opencontainers.image.description": b.About,
		"org.opencontainers.image.version":     version,
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.vendor":      "bflow",
	}
}

// newImage puts layers on nothing. Without a system and an architecture containerd refuses an image.
func newImage(b Binary, version string, p v1.Platform, layers ...v1.Layer) (v1.Image, error) {
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err := mutate.AppendLayers(img, layers...)
	if err != nil {
		return nil, err
	}
	old, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(img, &v1.ConfigFile{
		Created:      v1.Time{Time: time.Unix(0, 0).UTC()},
		OS:           p.OS,
		Architecture: p.Architecture,
		RootFS:       old.RootFS,
		Config: v1.Config{
			User:       user,
			Entrypoint: []string{"/" + b.Name},
			Env:        []string{"PATH=/"},
			WorkingDir: "/",
			Labels:     labels(b, version),
		},
	})
}

// newIndex joins the images of all platforms.
func newIndex(b Binary, version string, platforms []string, images map[string]v1.Image) (v1.ImageIndex, error) {
	idx := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range platforms {
		at := platform(p)
		idx = mutate.AppendManifests(idx, mutate.IndexAddendum{Add: images[p], Descriptor: v1.Descriptor{Platform: &at}})
	}
	annotated, ok := mutate.Annotations(idx, labels(b, version)).(v1.ImageIndex)
	if !ok {
		return nil, fmt.Errorf("annotating the index of %q: it is no index any more", b.Name)
	}
	return annotated, nil
}

// newArtifact is a document that refers to a manifest. Its kind is the media type of its config as well, which is what
// registries list as the type of an artifact.
func newArtifact(kind types.MediaType, document []byte, subject partial.Describable) (v1.Image, error) {
	to, err := partial.Descriptor(subject)
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), kind)
	if img, err = mutate.AppendLayers(img, static.NewLayer(document, kind)); err != nil {
		return nil, err
	}
	old, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	if img, err = mutate.ConfigFile(img,
		&v1.ConfigFile{RootFS: old.RootFS, Created: v1.Time{Time: time.Unix(0, 0).UTC()}}); err != nil {
		return nil, err
	}
	attached, ok := mutate.Subject(img,
		v1.Descriptor{MediaType: to.MediaType, Size: to.Size, Digest: to.Digest}).(v1.Image)
	if !ok {
		return nil, fmt.Errorf("attaching %s to %s: it is no image any more", kind, to.Digest)
	}
	return attached, nil
}
