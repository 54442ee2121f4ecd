package sim

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// TLSFiles are paths of PEM files.
type TLSFiles struct {
	Cert, Key string
	ClientCA  string // clients have to show a certificate of it; empty = they need none
	HTTP2     bool   // offered by ALPN
}

// Load reads the files. Without a certificate the result is nil.
func (f TLSFiles) Load() (*tls.Config, error) {
	if f.Cert == "" && f.Key == "" {
		if f.ClientCA != "" || f.HTTP2 {
			return nil, errors.New("a client CA and HTTP/2 need TLS: give a certificate and its key")
		}
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate of the engine: %w", err)
	}
	cfg := &tls.Config{
		Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
	}
	if f.HTTP2 {
		cfg.NextProtos = []string{"h2", "http/1.1"}
	}
	if f.ClientCA == "" {
		return cfg, nil
	}
	pem, err := os.ReadFile(f.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("reading the client CA: %w", err)
	}
	cfg.ClientCAs, cfg.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !cfg.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("reading the client CA: no certificate in %q", f.ClientCA)
	}
	return cfg, nil
}
