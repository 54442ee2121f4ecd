package remote

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"bflow.dev/bflow/queue/devices/view"
)

// token is a credential that is replaced while clients go on: no client has to be made anew for it.
type token struct{ text atomic.Pointer[string] }

// set keeps text, and says whether it is another one than before.
func (t *token) set(text string) (changed bool) {
	before := t.text.Swap(&text)
	return before == nil || *before != text
}

// wrap puts the token into every request.
func (t *token) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		req = req.Clone(req.Context())
		if text := t.text.Load(); text != nil {
			req.Header.Set("Authorization", "Bearer "+*text)
		}
		return next.RoundTrip(req)
	})
}

// fuse refuses requests at once while the target is known not to answer: who looks after many targets must not wait for
// one of them, call after call.
func fuse(name string, reach func() view.Reach, next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		if r := reach(); !r.Since.IsZero() && !r.Up {
			return nil, fmt.Errorf("the API server of target %q has not answered since %s: %s", name,
				r.Since.UTC().Format(time.RFC3339), r.Why)
		}
		return next.RoundTrip(req)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
