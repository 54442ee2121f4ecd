// Package digests resolves tags of images to digests: it asks all registries at the same time, and once. It must not
// know what the images are for, nor change anything.
package digests

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// ResolveTimeout bounds Resolve: its callers can continue without digests.
const ResolveTimeout = 4 * time.Second

// Answer is the digest of a reference, or why it is not known.
type Answer struct {
	Digest string // sha256:...; "" if not known
	Err    error  // why it is not known
}

// ErrAbsent means that the registry does not have the image.
var ErrAbsent = errors.New("the registry has no such image")

// ByTag reports whether a reference names an image by its tag alone.
func ByTag(ref string) bool { return !strings.Contains(ref, "@") }

// With returns a reference with its digest after its tag, which shows what the digest is of.
func With(ref, digest string) string { return ref + "@" + digest }

// Resolve asks registries for the digests of references. It takes ResolveTimeout at most, and uses the credentials
// that docker login has left on this machine.
func Resolve(ctx context.Context, refs []string) map[string]Answer {
	ctx, cancel := context.WithTimeoutCause(ctx, ResolveTimeout, errors.New("the registry does not answer"))
	defer cancel()
	plain, ok := remote.DefaultTransport.(*http.Transport)
	if !ok {
		plain = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	own := plain.Clone()
	defer own.CloseIdleConnections()
	var (
		mu  sync.Mutex
		all = map[string]Answer{}
		wg  sync.WaitGroup
	)
	for _, ref := range refs {
		wg.Go(func() {
			digest, err := ask(ctx, own, ref)
			mu.Lock()
			defer mu.Unlock()
			all[ref] = Answer{digest, err}
		})
	}
	wg.Wait()
	return all
}

func ask(ctx context.Context, over http.RoundTripper, ref string) (string, error) {
	tag, err := name.ParseReference(ref, name.WithDefaultTag("latest"))
	if err != nil {
		return "", fmt.Errorf("reading image %q: %w", ref, err)
	}
	found, err := remote.Head(tag, remote.WithContext(ctx), remote.WithTransport(over),
		remote.WithAuthFromKeychain(authn.DefaultKeychain),
		remote.WithUserAgent("bflow"), remote.WithRetryPredicate(noRetry), remote.WithRetryStatusCodes())
	if err != nil {
		return "", reason(ctx, err)
	}
	return found.Digest.String(), nil
}

func noRetry(error) bool { return false }

// reason shortens an error, so that it is the same for every image of an unreachable registry.
func reason(ctx context.Context, err error) error {
	var refused *transport.Error
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &refused) && refused.StatusCode == http.StatusNotFound:
		return ErrAbsent
	case errors.As(err, &refused):
		return fmt.Errorf("the registry answers %d %s", refused.StatusCode, http.StatusText(refused.StatusCode))
	}
	return errors.New("the registry cannot be reached")
}
