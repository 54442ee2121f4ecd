// Package digests resolves image tags to digests: it queries the registries in parallel, without retries. It must not
// know what the images are for, or change anything.
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

// Patience is how long registries have in all: whoever waits for them can go on without.
const ResolveTimeout = 4 * time.Second

// Answer is what is known of a reference.
type Answer struct {
	Digest string // sha256:..., "" where nobody told
	Err    error  // why nobody did
}

// ErrAbsent is why no digest is known of an image that its registry does not have.
var ErrAbsent = errors.New("the registry has no such image")

// ByTag tells whether a reference names an image by a tag alone.
func ByTag(ref string) bool { return !strings.Contains(ref, "@") }

// With is a reference with its digest beside its tag, which says what the digest is of.
func With(ref, digest string) string { return ref + "@" + digest }

// Resolve asks for the digests of references, mostly by tag. It takes Patience at most. Credentials are those that docker login
// has left on this machine.
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
	found, err := remote.Head(tag, remote.WithContext(ctx), remote.WithTransport(over), remote.WithAuthFromKeychain(authn.DefaultKeychain),
		remote.WithUserAgent("bflow"), remote.WithRetryPredicate(noRetry), remote.WithRetryStatusCodes())
	if err != nil {
		return "", reason(ctx, err)
	}
	return found.Digest.String(), nil
}

func noRetry(error) bool { return false }

// reason is a cause in few words: the same for every image of a registry that is not there.
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
