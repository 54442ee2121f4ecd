// Package tlsclient secures the connections to a server under test, for every task that connects to one: it turns
// load.api of a plan into one TLS configuration, and each mistake into one message. It must not open connections, or
// secure connections to other servers.
package tlsclient

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"

	"bflow.dev/bflow/runplan"
)

// Config returns how to check a server, and the certificate to show to it where the plan names one. The name of the
// server and the protocols to offer are left to whoever connects.
func Config(api runplan.API) (*tls.Config, error) {
	c := &tls.Config{InsecureSkipVerify: !api.VerifyTLS, MinVersion: tls.VersionTLS12}
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

// Secure gives t the configuration of api, and returns it as a transport whose errors are those of Explain.
func Secure(t *http.Transport, api runplan.API) (http.RoundTripper, error) {
	var err error
	if t.TLSClientConfig, err = Config(api); err != nil {
		return nil, err
	}
	return &explainingTransport{Transport: t, api: api}, nil
}

type explainingTransport struct {
	*http.Transport
	api runplan.API
}

// RoundTrip implements http.RoundTripper.
func (s *explainingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := s.Transport.RoundTrip(req)
	if why := Explain(address(req.URL), s.api, err); why != nil {
		return nil, why
	}
	return resp, err
}
