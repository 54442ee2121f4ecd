// Package wire implements the client side of HTTP/1.1: where to connect, how to build a request, and how to parse the
// bytes of a response into a head and pieces of a body, wherever the reads split them. It must not read a clock, keep
// connections or know what a body means.
package wire

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"bflow.dev/bflow/internal/credential"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/tlsclient"
)

// Server is where connections go.
type Server struct {
	Network string // tcp or unix
	Address string // host:port, or the path of a socket
	Host    string // for the Host header
	Path    string // of the base URL, without a trailing slash
	Query   string // of the base URL, with its question mark; it may hold a credential
	User    string // of the base URL, user:password; it is a credential
	TLS     *tls.Config
	api     runplan.API // from which TLS was made
}

// ParseServer reads a base URL such as https://host:8000/base or unix:///run/server.sock; api says how TLS is checked.
func ParseServer(base string, api runplan.API) (Server, error) {
	u, err := url.Parse(base)
	if err != nil {
		return Server{}, errors.New("reading endpoint: it is not a URL") // which may hold a credential, so it is not shown
	}
	if u.Scheme == "unix" {
		return unixServer(base, u)
	}
	s := Server{api: api, Network: "tcp", Host: u.Host, Path: strings.TrimRight(u.EscapedPath(), "/")}
	if u.RawQuery != "" {
		s.Query = "?" + u.RawQuery
	}
	if u.User != nil {
		password, _ := u.User.Password()
		s.User = u.User.Username() + ":" + password
	}
	port := u.Port()
	switch u.Scheme {
	case "http":
		port = orDefault(port, "80")
	case "https":
		port = orDefault(port, "443")
		if s.TLS, err = tlsConfig(u.Hostname(), api); err != nil {
			return Server{}, err
		}
	default:
		return Server{},
			fmt.Errorf("reading endpoint %q: want http:// or https:// with a host and perhaps a path, or unix:///path",
				credential.URL(base))
	}
	if u.Hostname() == "" {
		return Server{}, fmt.Errorf("reading endpoint %q: the host is missing", credential.URL(base))
	}
	s.Address = net.JoinHostPort(u.Hostname(), port)
	return s, nil
}

func unixServer(base string, u *url.URL) (Server, error) {
	path := u.Path
	if path == "" {
		path = u.Opaque
	}
	if path == "" || u.Host != "" {
		return Server{}, fmt.Errorf("reading endpoint %q: want unix:///path/of/the.sock", base)
	}
	return Server{Network: "unix", Address: path, Host: "localhost"}, nil
}

func orDefault(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// tlsConfig returns how connections to host are secured.
func tlsConfig(host string, api runplan.API) (*tls.Config, error) {
	c, err := tlsclient.Config(api)
	if err != nil {
		return nil, err
	}
	c.ServerName, c.NextProtos, c.ClientSessionCache = host, []string{"http/1.1"}, tls.NewLRUClientSessionCache(0)
	if api.HTTP2 {
		c.NextProtos = []string{"h2", "http/1.1"}
	}
	return c, nil
}

// Explain returns what err means where it is one of securing a connection to the server, nil where it is not.
func (s Server) Explain(err error) error {
	if s.TLS == nil {
		return nil
	}
	return tlsclient.Explain(s.Address, s.api, err)
}
