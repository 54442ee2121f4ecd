// Package outbound restricts where bflow's outgoing requests may go.
//
// A request to a server under test, to Prometheus, to MLflow or through an API server carries a credential or counts
// as a measurement: it goes only where the experiment says (Stay). A download may be redirected (Download). The
// package must not know the contents of a request or hold credentials.
package outbound

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// RedirectError is the answer of a server that leads elsewhere.
type RedirectError struct {
	To string // scheme, host and path: a query may hold a secret
}

func (e *RedirectError) Error() string {
	return fmt.Sprintf("it redirects to %q, and bflow follows no redirect of a request that carries credentials or "+
		"is measured; use that address if it is the right one", e.To)
}

// Stay returns c as a client that follows no redirect: its request fails with a *RedirectError.
func Stay(c *http.Client) *http.Client {
	stays := *c
	stays.Transport = &noRedirectTransport{next: c.Transport}
	return &stays
}

// noRedirectTransport refuses redirects, also those to the same host, below http.Client, whose own error would have the
// whole address that a server has thought of.
type noRedirectTransport struct{ next http.RoundTripper }

func (s *noRedirectTransport) transport() http.RoundTripper {
	if s.next == nil {
		return http.DefaultTransport
	}
	return s.next
}

func (s *noRedirectTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := s.transport().RoundTrip(req)
	if err != nil || resp.StatusCode < 300 || resp.StatusCode > 399 {
		return resp, err
	}
	to, err := resp.Location()
	if err != nil { // 304 and its like lead nowhere
		return resp, nil
	}
	_ = resp.Body.Close()
	return nil, &RedirectError{To: bare(to)}
}

// CloseIdleConnections is what http.Client looks for.
func (s *noRedirectTransport) CloseIdleConnections() {
	if c, ok := s.transport().(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// Redirect is the refusal of an answer to a request for from, an address, that leads to location. Where that is no
// address, it names nothing.
func Redirect(from, location string) *RedirectError {
	base, err := url.Parse(from)
	if err != nil {
		return &RedirectError{}
	}
	to, err := base.Parse(location)
	if err != nil {
		return &RedirectError{}
	}
	return &RedirectError{To: bare(to)}
}

// maxRedirects is as net/http has it.
const maxRedirects = 10

// Download returns c as a client that is led on over https alone, and tells nobody where it was before: an address may
// have a key in its query. It is for requests without a credential of bflow's; net/http itself keeps one of the address
// (userinfo) from another host.
func Download(c *http.Client) *http.Client {
	leads := *c
	leads.CheckRedirect = func(next *http.Request, before []*http.Request) error {
		next.Header.Del("Referer") // net/http writes the whole address before this one there
		switch {
		case next.URL.Scheme != "https":
			return fmt.Errorf("it redirects to %q, and a download follows redirects to https only", bare(next.URL))
		case len(before) >= maxRedirects:
			return fmt.Errorf("it redirected more than %d times", maxRedirects)
		}
		return nil
	}
	return &leads
}

// Below is the address of a path below base. A query of base, in which some servers take a key, stands behind the path.
func Below(base, path string) string {
	base, query, asked := strings.Cut(base, "?")
	base = strings.TrimRight(base, "/")
	switch {
	case !asked:
		return base + path
	case strings.Contains(path, "?"):
		return base + path + "&" + query
	}
	return base + path + "?" + query
}

// WithoutAddress returns err without the address that net/http puts before it, whose query may hold a secret.
func WithoutAddress(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

func bare(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
