package images

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"golang.org/x/crypto/x509roots/fallback/bundle"

	"bflow.dev/bflow/images/attest"
)

// user is who runs in an image unless the cluster assigns somebody: no root, by number, so that kubelet can tell.
const user = "65532:65532"

// Accounts of the base layer. A program finds its own name by them; nobody can log in.
const (
	passwd = "root:x:0:0:root:/root:/sbin/nologin\n" +
		"nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\n" +
		"bflow:x:65532:65532:bflow:/tmp:/sbin/nologin\n"
	group = "root:x:0:\nnobody:x:65534:\nbflow:x:65532:\n"
)

// certificates is where Go programs look first.
const certificates = "etc/ssl/certs/ca-certificates.crt"

// base is what a static program needs around it: accounts, certificates, and a folder that everybody may write.
func base() ([]entry, error) {
	roots, err := roots()
	if err != nil {
		return nil, err
	}
	return []entry{
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, data: []byte(group)},
		{name: "etc/passwd", mode: 0o644, data: []byte(passwd)},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: certificates, mode: 0o644, data: roots},
		{name: "tmp/", mode: 0o1777},
	}, nil
}

// minRoots is far below what Mozilla trusts: fewer mean that the module changed its ways.
const minRoots = 80

// roots are the certificates that Mozilla trusts for servers, as the Go team publishes them, in the order of the
// module. Those trusted only for certificates up to some date are left out: a PEM file cannot say so.
func roots() ([]byte, error) {
	var out bytes.Buffer
	n := 0
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		n++
		if err := pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, fmt.Errorf("writing certificates: %w", err)
		}
	}
	if n < minRoots {
		return nil, fmt.Errorf("writing certificates: module %s has only %d", rootsModule, n)
	}
	return out.Bytes(), nil
}

const rootsModule = "golang.org/x/crypto/x509roots/fallback"

// rootsOrigin is the module that the certificates are from, by the version this program is linked with.
func rootsOrigin() (attest.Module, error) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return attest.Module{}, errors.New("reading build information: this program has none")
	}
	i := slices.IndexFunc(info.Deps, func(d *debug.Module) bool { return d.Path == rootsModule })
	if i < 0 {
		return attest.Module{Path: rootsModule, Version: "unknown"}, nil
	}
	return attest.Module{Path: rootsModule, Version: info.Deps[i].Version, Sum: info.Deps[i].Sum}, nil
}
