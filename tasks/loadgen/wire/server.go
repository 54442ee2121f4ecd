// Package wire speaks the HTTP/1.1 of a client: where connections go, how one is made, and how the bytes of an answer
// become a head and pieces of a body, whatever the borders of the reads. It must not read a clock, keep connections or
// know what a body means.
package wire

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	"bflow.dev/bflow/tasks/runplan"
)

// Server is where connections go.
type Server struct {
	Network string // tcp or unix
	Address string // host:port, or the path of a socket
	Host    string // for the Host header
	Path    string // of the base URL, without a trailing slash
	TLS     *tls.Config
}

// ParseServer reads a base URL such as https://host:8000/base or unix:///run/server.sock; api says how TLS is checked.
func ParseServer(base string, api runplan.API) (Server, error) {
	u, err := url.Parse(base)
	if err != nil {
		return Server{}, fmt.Errorf("reading endpoint: %w", err)
	}
	if u.Scheme == "unix" {
		return unixServer(base, u)
	}
	s := Server{Network: "tcp", Host: u.Host, Path: strings.TrimRight(u.EscapedPath(), "/")}
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
		return Server{}, fmt.Errorf("reading endpoint %q: want http:// or https:// with a host and perhaps a path, or unix:///path", base)
	}
	if u.Hostname() == "" {
		return Server{}, fmt.Errorf("reading endpoint %q: the host is missing", base)
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

// tlsConfig returns how to check a server, and the certificate to show where the plan names one.
func tlsConfig(host string, api runplan.API) (*tls.Config, error) {
	c := &tls.Config{ServerName: host, InsecureSkipVerify: !api.VerifyTLS, NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12,
		ClientSessionCache: tls.NewLRUClientSessionCache(0)}
	if api.HTTP2 {
		c.NextProtos = []string{"h2", "http/1.1"}
	}
	f := api.TLS
	if f == nil {
		return c, nil
	}
	if f.CA != "" {
		pem, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, fmt.Errorf("reading load.api.tls.ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("reading load.api.tls.ca %q: it holds no PEM certificate", f.CA)
		}
	}
	if (f.Cert == "") != (f.Key == "") {
		return nil, errors.New("reading load.api.tls: cert and key belong together")
	}
	if f.Cert != "" {
		pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
		if err != nil {
			return nil, fmt.Errorf("reading load.api.tls.cert and key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
