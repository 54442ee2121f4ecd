package tlsclient

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"bflow.dev/bflow/runplan"
)

// Error is a connection to a server under test that could not be secured.
type Error struct {
	Address string // host:port of the server
	Err     error  // of crypto/tls
	what    string // went wrong, and what to do
}

func (e *Error) Error() string {
	return fmt.Sprintf("securing the connection to %q: %s", e.Address, e.what)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Explain returns what err, of a connection to address by the configuration of api, means where it is one of securing
// it, and nil where it is not, or where it has been explained.
func Explain(address string, api runplan.API, err error) error {
	if done := new(Error); err == nil || errors.As(err, &done) {
		return nil
	}
	files := runplan.TLSFiles{}
	if api.TLS != nil {
		files = *api.TLS
	}
	var (
		untrusted *tls.CertificateVerificationError
		plain     tls.RecordHeaderError
		op        *net.OpError
	)
	what := ""
	switch {
	case errors.As(err, &untrusted):
		what = "the certificate of the server is not trusted: " + mistrust(untrusted.Err, files)
	case errors.As(err, &plain), errors.Is(err, http.ErrSchemeMismatch):
		what = "the server does not speak TLS; check whether its address has to begin with http://"
	case errors.As(err, &op) && op.Op == "remote error": // crypto/tls: the server has sent an alert
		what = fmt.Sprintf("the server refused it: %v; %s", op.Err, certificate(files))
	default:
		return nil
	}
	return &Error{Address: address, Err: err, what: what}
}

// mistrust says why a certificate is not trusted, and what to do.
func mistrust(err error, files runplan.TLSFiles) string {
	var (
		unknown  x509.UnknownAuthorityError
		hostname x509.HostnameError
	)
	switch {
	case errors.As(err, &hostname):
		return fmt.Sprintf("%v; name the server as its certificate does", err)
	case !errors.As(err, &unknown):
		return err.Error()
	case files.CA == "":
		return "no CA that this system trusts has signed it; set its CA in load.api.tls.ca"
	}
	return fmt.Sprintf("the CA in load.api.tls.ca %q has not signed it; set the CA that has", files.CA)
}

// certificate says what to do about the certificate that a server has seen, or has not.
func certificate(files runplan.TLSFiles) string {
	if files.Cert == "" {
		return "if it requires a client certificate, set load.api.tls.cert and key"
	}
	return fmt.Sprintf("it was sent the one in load.api.tls.cert %q", files.Cert)
}

// address returns host and port of a URL.
func address(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "443"
	}
	return net.JoinHostPort(u.Hostname(), port)
}
