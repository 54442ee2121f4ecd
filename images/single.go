package images

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"bflow.dev/bflow/images/lock"
)

// Write pushes one image to ref, a tag, and returns the reference by digest. The prefix of the registry is not used.
func (to Registry) Write(ctx context.Context, ref string, img v1.Image) (string, error) {
	tag, err := name.NewTag(ref, to.names()...)
	if err != nil {
		return "", fmt.Errorf("pushing to %q: %w", ref, err)
	}
	if err := remote.Write(tag, img, to.options(ctx)...); err != nil {
		return "", fmt.Errorf("pushing to %q: %w", ref, err)
	}
	return Pinned(ref, img)
}

// WriteArchive writes one image as an OCI layout in a tarball, where it is called ref.
func WriteArchive(out io.Writer, ref string, img v1.Image) error {
	t := tar.NewWriter(out)
	if err := writeBlobs(t, img); err != nil {
		return fmt.Errorf("writing %q: %w", ref, err)
	}
	d, err := partial.Descriptor(img)
	if err != nil {
		return fmt.Errorf("writing %q: %w", ref, err)
	}
	d.Annotations = map[string]string{annotationContainerd: ref, annotationRefName: ref}
	if err := closeLayout(t, []v1.Descriptor{*d}); err != nil {
		return fmt.Errorf("writing %q: %w", ref, err)
	}
	return nil
}

// writeBlobs writes layers, config and manifest of img, each once.
func writeBlobs(t *tar.Writer, img v1.Image) error {
	layers, err := img.Layers()
	if err != nil {
		return err
	}
	done := map[v1.Hash]bool{}
	for _, l := range layers {
		digest, err := l.Digest()
		if err != nil {
			return err
		}
		if done[digest] {
			continue
		}
		done[digest] = true
		if err := writeLayer(t, digest, l); err != nil {
			return err
		}
	}
	for _, read := range []func() ([]byte, error){img.RawConfigFile, img.RawManifest} {
		text, err := read()
		if err != nil {
			return err
		}
		digest, size, err := v1.SHA256(bytes.NewReader(text))
		if err != nil {
			return err
		}
		if err := tarFile(t, blobName(digest), size, bytes.NewReader(text)); err != nil {
			return err
		}
	}
	return nil
}

func writeLayer(t *tar.Writer, digest v1.Hash, l v1.Layer) error {
	size, err := l.Size()
	if err != nil {
		return err
	}
	packed, err := l.Compressed()
	if err != nil {
		return err
	}
	defer packed.Close()
	return tarFile(t, blobName(digest), size, packed)
}

// Pinned is ref, a tag, by the digest of img.
func Pinned(ref string, img v1.Image) (string, error) {
	digest, err := img.Digest()
	if err != nil {
		return "", fmt.Errorf("reading the digest of %q: %w", ref, err)
	}
	return lock.Image{Ref: ref, Digest: digest.String()}.Pinned(), nil
}
