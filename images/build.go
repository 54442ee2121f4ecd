package images

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/sync/errgroup"

	"bflow.dev/bflow/images/attest"
)

// Build compiles programs and writes their images into folder dir as an OCI layout, with what they hold and how they
// were made beside them. A layout that an earlier call left there is replaced. It opens no connection of its own; the
// go tool fetches modules that the host does not have.
func Build(ctx context.Context, dir string, o Options) (*Layout, error) {
	o, err := o.check()
	if err != nil {
		return nil, err
	}
	chosen, err := choose(o.Only)
	if err != nil {
		return nil, err
	}
	w, err := create(dir)
	if err != nil {
		return nil, err
	}
	b := &builder{Options: o, writer: w, revision: Revision(ctx, o.Source)}
	if err := b.prepare(); err != nil {
		return nil, err
	}
	made, err := b.platforms(ctx, chosen)
	if err != nil {
		return nil, err
	}
	for _, binary := range chosen {
		if err := b.add(binary, made); err != nil {
			return nil, fmt.Errorf("making the image of %q: %w", binary.Name, err)
		}
	}
	return Open(dir)
}

type builder struct {
	Options
	writer   *writer
	revision string
	base     *layer
	roots    attest.Module
}

// product is one compiled program in its image.
type product struct {
	image v1.Image
	info  *buildinfo.BuildInfo
}

// productKey names a product: a binary on a platform.
type productKey struct{ name, platform string }

func (b *builder) prepare() (err error) {
	entries, err := base()
	if err != nil {
		return err
	}
	if b.base, err = newLayer(b.writer.blobs(), entries); err != nil {
		return err
	}
	b.roots, err = rootsOrigin()
	return err
}

// platforms compiles one platform after the other: the go tool uses every core by itself.
func (b *builder) platforms(ctx context.Context, chosen []Binary) (map[productKey]product, error) {
	made := map[productKey]product{}
	for _, p := range b.Platforms {
		start := time.Now()
		fmt.Fprintf(b.Progress, "%s: compiling; the first time takes minutes\n", p)
		if err := b.buildPlatform(ctx, p, chosen, made); err != nil {
			return nil, err
		}
		fmt.Fprintf(b.Progress, "%s: %d images in %s\n", p, len(chosen), time.Since(start).Round(100*time.Millisecond))
	}
	return made, nil
}

func (b *builder) buildPlatform(ctx context.Context, p string, chosen []Binary, made map[productKey]product) error {
	dir, err := os.MkdirTemp("", "bflow-images-")
	if err != nil {
		return fmt.Errorf("compiling for %s: %w", p, err)
	}
	defer os.RemoveAll(dir)
	var names []string
	for _, binary := range chosen {
		names = append(names, binary.Name)
	}
	if err := goBuild(ctx, b.Options, p, names, dir); err != nil {
		return err
	}
	products := make([]product, len(chosen))
	var g errgroup.Group
	g.SetLimit(runtime.NumCPU())
	for i, binary := range chosen {
		g.Go(func() (err error) {
			products[i], err = b.pack(binary, p, filepath.Join(dir, binary.Name))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, binary := range chosen {
		made[productKey{binary.Name, p}] = products[i]
	}
	return ctx.Err()
}

// pack makes the image of the program at path.
func (b *builder) pack(binary Binary, p, path string) (product, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return product{}, fmt.Errorf("reading what %q is made of: %w", binary.Name, err)
	}
	l, err := newLayer(b.writer.blobs(), []entry{{name: binary.Name, mode: 0o755, from: path}})
	if err != nil {
		return product{}, err
	}
	img, err := newImage(binary, b.Version, platform(p), b.base, l)
	return product{img, info}, err
}

// add writes the index of a binary and its documents into the layout.
func (b *builder) add(binary Binary, made map[productKey]product) error {
	byPlatform := map[string]v1.Image{}
	for _, p := range b.Platforms {
		byPlatform[p] = made[productKey{binary.Name, p}].image
	}
	idx, err := newIndex(binary, b.Version, b.Platforms, byPlatform)
	if err != nil {
		return err
	}
	if err := b.writer.addIndex(idx, b.annotations(binary)); err != nil {
		return err
	}
	digests, err := digestsOf(idx, byPlatform)
	if err != nil {
		return err
	}
	for _, p := range b.Platforms {
		if err := b.describe(binary, p, digests[p], made[productKey{binary.Name, p}]); err != nil {
			return err
		}
	}
	return b.prove(binary, idx, digests, made[productKey{binary.Name, b.Platforms[0]}])
}

func (b *builder) annotations(binary Binary) map[string]string {
	a := map[string]string{
		annotationName: binary.Name, annotationVersion: b.Version,
		annotationContainerd: b.Prefix + "/" + binary.Name + ":" + Tag(b.Version), annotationRefName: Tag(b.Version),
	}
	if b.revision != "" {
		a[annotationRevision] = b.revision
	}
	return a
}

// digestsOf are the digests of the index, by "index", and of the images, by platform.
func digestsOf(idx v1.ImageIndex, images map[string]v1.Image) (map[string]string, error) {
	digest, err := idx.Digest()
	if err != nil {
		return nil, err
	}
	digests := map[string]string{"index": digest.String()}
	for p, img := range images {
		if digest, err = img.Digest(); err != nil {
			return nil, err
		}
		digests[p] = digest.String()
	}
	return digests, nil
}

// describe attaches the list of what is in an image.
func (b *builder) describe(binary Binary, p, digest string, made product) error {
	text, err := attest.SPDX(attest.Image{
		Name: binary.Name, Version: b.Version, Platform: p, Digest: digest, Info: made.info, Roots: b.roots,
	})
	if err != nil {
		return err
	}
	return b.writer.attach(binary.Name, types.MediaType(attest.SPDXType), text, made.image)
}

// prove attaches how the images of all platforms were made.
func (b *builder) prove(binary Binary, idx v1.ImageIndex, digests map[string]string, made product) error {
	text, err := attest.Provenance(attest.Build{
		Name: binary.Name, Digests: digests, Package: Module + "/cmd/" + binary.Name, Version: b.Version,
		Revision: b.revision,
		Flags:    buildFlags(b.Version), Env: buildEnv(), Modules: attest.Modules(made.info),
	})
	if err != nil {
		return err
	}
	return b.writer.attach(binary.Name, types.MediaType(attest.ProvenanceType), text, idx)
}
