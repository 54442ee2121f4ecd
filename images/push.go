package images

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"golang.org/x/sync/errgroup"

	"bflow.dev/bflow/images/lock"
)

// Registry says where images go and how. Credentials are those of `docker login`.
type Registry struct {
	Prefix   string    // such as registry.example/team/bflow
	Insecure bool      // plain HTTP, or a certificate that nobody vouches for
	Progress io.Writer // one line per image; nil = silent
}

// pushAtOnce is how many images are on their way at a time: small ones wait for answers more than for the line.
const pushAtOnce = 4

// Push writes every image of the layout with its documents to PREFIX/NAME:VERSION. What the registry has already is not
// sent again. It returns the images by digest.
func (l *Layout) Push(ctx context.Context, to Registry) (lock.File, error) {
	prefix := strings.TrimRight(to.Prefix, "/")
	pusher, err := remote.NewPusher(to.options(ctx)...)
	if err != nil {
		return lock.File{}, fmt.Errorf("pushing images: %w", err)
	}
	if to.Progress == nil {
		to.Progress = io.Discard
	}
	out := lock.File{Version: l.Version, Revision: l.Revision, Images: make([]lock.Image, len(l.Images))}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(pushAtOnce)
	for n, img := range l.Images {
		g.Go(func() error {
			ref := prefix + "/" + img.Name + ":" + Tag(l.Version)
			if err := l.push(ctx, pusher, img, ref, to.names()); err != nil {
				return fmt.Errorf("pushing image %q: %w", ref, err)
			}
			out.Images[n] = img.lock(ref)
			fmt.Fprintf(to.Progress, "pushed %s@%s\n", ref, img.Digest)
			return nil
		})
	}
	return out, g.Wait()
}

func (l *Layout) push(ctx context.Context, pusher *remote.Pusher, img Image, ref string, names []name.Option) error {
	tag, err := name.NewTag(ref, names...)
	if err != nil {
		return err
	}
	if err := pusher.Push(ctx, tag, img.index); err != nil {
		return err
	}
	for _, d := range l.documents {
		if d.name != img.Name {
			continue
		}
		digest, err := d.image.Digest()
		if err != nil {
			return err
		}
		if err := pusher.Push(ctx, tag.Context().Digest(digest.String()), d.image); err != nil {
			return fmt.Errorf("attaching a document: %w", err)
		}
	}
	return nil
}

// names are the rules by which a reference is read.
func (to Registry) names() []name.Option {
	if to.Insecure {
		return []name.Option{name.Insecure}
	}
	return nil
}

func (to Registry) options(ctx context.Context) []remote.Option {
	options := []remote.Option{
		remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithUserAgent("bflow"),
	}
	if plain, ok := remote.DefaultTransport.(*http.Transport); ok && to.Insecure {
		own := plain.Clone()
		own.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} // asked for by the caller
		options = append(options, remote.WithTransport(own))
	}
	return options
}
