// Package certs creates throw-away certificates, for an engine with TLS and for its clients. Nothing that must stay
// secret may use it.
package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// lifetime is as long as any run may take.
const lifetime = 7 * 24 * time.Hour

// Files are paths of PEM files. The CA has signed both the server, for localhost, 127.0.0.1 and ::1, and the client.
type Files struct {
	CA                    string
	Cert, Key             string
	ClientCert, ClientKey string
}

// Write makes new certificates in dir.
func Write(dir string) (Files, error) {
	f := Files{
		CA: filepath.Join(dir, "ca.pem"), Cert: filepath.Join(dir, "server.pem"), Key: filepath.Join(dir, "server.key"),
		ClientCert: filepath.Join(dir, "client.pem"), ClientKey: filepath.Join(dir, "client.key"),
	}
	a, err := newAuthority()
	if err != nil {
		return f, fmt.Errorf("making a certificate authority: %w", err)
	}
	if err := write(f.CA, "CERTIFICATE", a.cert.Raw); err != nil {
		return f, err
	}
	if err := a.issue(f.Cert, f.Key, x509.ExtKeyUsageServerAuth); err != nil {
		return f, err
	}
	return f, a.issue(f.ClientCert, f.ClientKey, x509.ExtKeyUsageClientAuth)
}

type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := template("throw-away authority")
	t.IsCA, t.BasicConstraintsValid, t.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return &authority{cert: cert, key: key}, err
}

func template(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(lifetime),
	}
}

// issue writes a certificate and its key.
func (a *authority) issue(certPath, keyPath string, use x509.ExtKeyUsage) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("making a key: %w", err)
	}
	t := template("localhost")
	t.KeyUsage, t.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{use}
	t.DNSNames, t.IPAddresses = []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	cert, err := x509.CreateCertificate(rand.Reader, t, a.cert, key.Public(), a.key)
	if err != nil {
		return fmt.Errorf("making a certificate: %w", err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("encoding a key: %w", err)
	}
	if err := write(certPath, "CERTIFICATE", cert); err != nil {
		return err
	}
	return write(keyPath, "PRIVATE KEY", secret)
}

func write(path, kind string, der []byte) error {
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		return fmt.Errorf("writing a certificate: %w", err)
	}
	return nil
}
