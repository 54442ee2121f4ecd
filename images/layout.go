package images

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"

	"bflow.dev/bflow/images/lock"
)

// Layout is a folder of images in the form that OCI describes, as Build writes it.
type Layout struct {
	Images   []Image // sorted by name
	Version  string  // of bflow
	Revision string  // of the source, may be empty

	dir       string
	documents []document
}

// Image is one image of a layout.
type Image struct {
	Name      string
	Ref       string // with the prefix it was built for, and a tag
	Digest    v1.Hash
	Platforms []Variant // in the order of the index

	index v1.ImageIndex
}

// Variant is an image for one platform. Size is what a node fetches, in bytes: layers, config and manifest.
type Variant struct {
	Platform string
	Digest   v1.Hash
	Size     int64
}

// document is an artifact that belongs to an image.
type document struct {
	name  string // of the binary
	image v1.Image
}

// Open reads the layout in folder dir.
func Open(dir string) (*Layout, error) {
	root, err := layout.ImageIndexFromPath(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading images of %q: there is no OCI layout; write one with bflow images build --out %s",
			dir, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("reading images of %q: %w", dir, err)
	}
	l := &Layout{dir: dir}
	if err := l.read(root); err != nil {
		return nil, fmt.Errorf("reading images of %q: %w", dir, err)
	}
	slices.SortFunc(l.Images, func(a, b Image) int { return strings.Compare(a.Name, b.Name) })
	return l, nil
}

func (l *Layout) read(root v1.ImageIndex) error {
	manifest, err := root.IndexManifest()
	if err != nil {
		return err
	}
	for _, d := range manifest.Manifests {
		name := d.Annotations[annotationName]
		switch {
		case name == "":
			return fmt.Errorf("%s is not one of bflow's images", d.Digest)
		case d.MediaType.IsIndex():
			img, err := readImage(root, d)
			if err != nil {
				return fmt.Errorf("image %q: %w", name, err)
			}
			l.Images = append(l.Images, img)
			l.Version, l.Revision = d.Annotations[annotationVersion], d.Annotations[annotationRevision]
		default:
			img, err := root.Image(d.Digest)
			if err != nil {
				return fmt.Errorf("document of %q: %w", name, err)
			}
			l.documents = append(l.documents, document{name, img})
		}
	}
	return nil
}

func readImage(root v1.ImageIndex, d v1.Descriptor) (Image, error) {
	img := Image{Name: d.Annotations[annotationName], Ref: d.Annotations[annotationContainerd], Digest: d.Digest}
	var err error
	if img.index, err = root.ImageIndex(d.Digest); err != nil {
		return img, err
	}
	manifest, err := img.index.IndexManifest()
	if err != nil {
		return img, err
	}
	for _, m := range manifest.Manifests {
		if m.Platform == nil {
			return img, fmt.Errorf("%s names no platform", m.Digest)
		}
		variant := Variant{Platform: m.Platform.OS + "/" + m.Platform.Architecture, Digest: m.Digest}
		if variant.Size, err = transferSize(img.index, m); err != nil {
			return img, err
		}
		img.Platforms = append(img.Platforms, variant)
	}
	return img, nil
}

// transferSize is what a node that has nothing yet fetches of an image.
func transferSize(idx v1.ImageIndex, d v1.Descriptor) (int64, error) {
	img, err := idx.Image(d.Digest)
	if err != nil {
		return 0, err
	}
	m, err := img.Manifest()
	if err != nil {
		return 0, err
	}
	size := d.Size + m.Config.Size
	for _, l := range m.Layers {
		size += l.Size
	}
	return size, nil
}

// Lock lists the images by digest, as they are named in the layout.
func (l *Layout) Lock() lock.File {
	f := lock.File{Version: l.Version, Revision: l.Revision}
	for _, i := range l.Images {
		f.Images = append(f.Images, i.lock(i.Ref))
	}
	return f
}

func (i Image) lock(ref string) lock.Image {
	out := lock.Image{Name: i.Name, Ref: ref, Digest: i.Digest.String(), Platforms: map[string]string{}}
	for _, v := range i.Platforms {
		out.Platforms[v.Platform] = v.Digest.String()
	}
	return out
}

// Platforms are those that every image of the layout was built for.
func (l *Layout) Platforms() []string {
	var all []string
	for n, i := range l.Images {
		var own []string
		for _, v := range i.Platforms {
			own = append(own, v.Platform)
		}
		if n == 0 {
			all = own
		}
		all = slices.DeleteFunc(all, func(p string) bool { return !slices.Contains(own, p) })
	}
	return all
}
