package sim

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/sim/certs"
)

const threeTokens = `{"prompt":"a","max_tokens":3,"stream":true}`

// secure starts an engine with TLS and returns a client that trusts it and shows a certificate.
func secure(t *testing.T, cfg Config, http2, mutual bool) (*Server, *http.Client) {
	t.Helper()
	files, err := certs.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	given := TLSFiles{Cert: files.Cert, Key: files.Key, HTTP2: http2}
	if mutual {
		given.ClientCA = files.CA
	}
	if cfg.TLS, err = given.Load(); err != nil {
		t.Fatal(err)
	}
	s := listen(t, cfg)
	pem, err := os.ReadFile(files.CA)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	pair, err := tls.LoadX509KeyPair(files.ClientCert, files.ClientKey)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}, ForceAttemptHTTP2: http2,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return s, &http.Client{Transport: transport}
}

// threeOf asks for three tokens.
func threeOf(t *testing.T, client *http.Client, base string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(eventually.Context(t), http.MethodPost, base+"/v1/completions",
		strings.NewReader(threeTokens))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func TestTLS(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		t.Run(name, func(t *testing.T) {
			s, client := secure(t, Config{Sim: runplan.Sim{TTFT: ms(5), ITL: ms(5)}}, http2, true)
			for range 3 {
				resp := threeOf(t, client, s.URL())
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || resp.Proto != name || strings.Count(string(body), `"text":" `) != 3 ||
					!strings.HasSuffix(string(body), "data: [DONE]\n\n") {
					t.Fatalf("%s, error %v: %s", resp.Proto, err, body)
				}
			}
			for _, r := range ended(t, s, 3) {
				if r.Status != StatusComplete || r.Arrival == 0 || r.BlockedWrites > 0 {
					t.Errorf("record %+v", r)
				}
			}
		})
	}
}

func TestAClientWithoutACertificateIsTurnedAway(t *testing.T) {
	s, client := secure(t, Config{}, false, true)
	client.Transport.(*http.Transport).TLSClientConfig.Certificates = nil
	if resp, err := client.Get(s.URL() + "/health"); err == nil {
		t.Errorf("it got %s", resp.Status)
	}
}

func TestFaultsWorkUnderTLS(t *testing.T) {
	s, client := secure(t, Config{
		Sim: runplan.Sim{TTFT: ms(1), ITL: ms(1), Faults: []runplan.Fault{{Kind: runplan.FaultReset}}}}, false, false)
	resp := threeOf(t, client, s.URL())
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("the stream ended well: %s", body)
	}
}

func TestAUnixSocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "sim") // paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s := listen(t, Config{Socket: filepath.Join(dir, "s")})
	if s.URL() != "unix://"+filepath.Join(dir, "s") {
		t.Errorf("URL %s", s.URL())
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, "s"))
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}}
	resp := threeOf(t, client, "http://x")
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || !strings.HasSuffix(string(body), "[DONE]\n\n") {
		t.Errorf("error %v: %s", err, body)
	}
}

func TestTheFlagsOfAConnection(t *testing.T) {
	files, err := certs.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, nil, "--listen", "127.0.0.1:0", "--tls-cert", files.Cert, "--tls-key", files.Key, "--http2",
		"--event-stamps=false", "--event-bytes", "203")
	defer r.cancel()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	resp, err := client.Get(strings.Replace(r.url, "http:", "https:", 1) + "/health")
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%v, error %v", resp, err)
	}
	resp.Body.Close()
	r.cancel()
	if code := <-r.code; code != 0 || !strings.HasPrefix(r.out.String(), "https://") {
		t.Errorf("exit %d, printed %q %q", code, r.out.String(), r.err.String())
	}
}
