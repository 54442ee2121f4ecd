package tlsclient_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/sim"
	"bflow.dev/bflow/sim/certs"
	"bflow.dev/bflow/tasks/tlsclient"
)

// start starts a server with a certificate of f, which wants one of clients where mutual.
func start(t *testing.T, f certs.Files, mutual bool) *httptest.Server {
	t.Helper()
	given := sim.TLSFiles{Cert: f.Cert, Key: f.Key}
	if mutual {
		given.ClientCA = f.CA
	}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	var err error
	if srv.TLS, err = given.Load(); err != nil {
		t.Fatal(err)
	}
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // it tells of every connection that is refused
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv
}

func write(t *testing.T) certs.Files {
	t.Helper()
	f, err := certs.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestConnectionsAreSecuredAsThePlanSays(t *testing.T) {
	mine, other := write(t), write(t)
	open, mutual := start(t, mine, false), start(t, mine, true)
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	for _, tt := range []struct {
		name  string
		url   string
		files *runplan.TLSFiles
		loose bool
		says  string
	}{
		{name: "the authority of the plan is trusted", url: open.URL, files: &runplan.TLSFiles{CA: mine.CA}},
		{name: "the server gets the certificate of the plan", url: mutual.URL,
			files: &runplan.TLSFiles{CA: mine.CA, Cert: mine.ClientCert, Key: mine.ClientKey}},
		{name: "with verify_tls off any is trusted", url: open.URL, loose: true},
		{name: "and a certificate is shown all the same", url: mutual.URL, loose: true,
			files: &runplan.TLSFiles{Cert: mine.ClientCert, Key: mine.ClientKey}},
		{name: "without an authority the system's count", url: open.URL,
			says: "no CA that this system trusts has signed it; set its CA in load.api.tls.ca"},
		{name: "another authority", url: open.URL, files: &runplan.TLSFiles{CA: other.CA},
			says: "has not signed it; set the CA that has"},
		{name: "another name", url: strings.Replace(open.URL, "127.0.0.1", "there.invalid", 1),
			files: &runplan.TLSFiles{CA: mine.CA}, says: "not there.invalid; name the server as its certificate does"},
		{name: "a certificate of another authority", url: mutual.URL,
			files: &runplan.TLSFiles{CA: mine.CA, Cert: other.ClientCert, Key: other.ClientKey},
			says:  "it was sent the one in load.api.tls.cert"},
		{name: "no certificate", url: mutual.URL, files: &runplan.TLSFiles{CA: mine.CA},
			says: "tls: certificate required; if it requires a client certificate, set"},
		{name: "a server that does not speak TLS", url: strings.Replace(plain.URL, "http:", "https:", 1),
			says: "check whether its address has to begin with http://"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			here := func(ctx context.Context, network, address string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, strings.Replace(address, "there.invalid", "127.0.0.1", 1))
			}
			transport, err := tlsclient.Secure(&http.Transport{DisableKeepAlives: true, DialContext: here}, runplan.API{
				VerifyTLS: !tt.loose, TLS: tt.files,
			})
			if err != nil {
				t.Fatal(err)
			}
			resp, err := (&http.Client{Transport: transport}).Get(tt.url)
			if tt.says == "" {
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				return
			}
			var security *tlsclient.Error
			if !errors.As(err, &security) || "https://"+security.Address != tt.url ||
				!strings.Contains(security.Error(), tt.says) {
				t.Errorf("got %v, want %q", err, tt.says)
			}
		})
	}
}

func TestOtherErrorsAreNotExplained(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	transport, err := tlsclient.Secure(&http.Transport{}, runplan.API{VerifyTLS: true})
	if err != nil {
		t.Fatal(err)
	}
	_, err = (&http.Client{Transport: transport}).Get(strings.Replace(srv.URL, "http:", "https:", 1))
	if security := new(tlsclient.Error); err == nil || errors.As(err, &security) {
		t.Errorf("nobody listens, and it says %v", err)
	}
	if why := tlsclient.Explain("h:1", runplan.API{}, &tlsclient.Error{}); why != nil {
		t.Errorf("what is explained is explained again: %v", why)
	}
}

func TestFilesThatDoNotFitAreNamed(t *testing.T) {
	f := write(t)
	for _, tt := range []struct {
		name  string
		files runplan.TLSFiles
		says  string
	}{
		{name: "no CA", files: runplan.TLSFiles{CA: f.CA + ".old"}, says: "reading load.api.tls.ca: open"},
		{name: "a CA that is none", files: runplan.TLSFiles{CA: f.Key}, says: "it holds no PEM certificate"},
		{name: "a certificate without its key", files: runplan.TLSFiles{Cert: f.ClientCert},
			says: "cert and key belong together"},
		{name: "another key", files: runplan.TLSFiles{Cert: f.ClientCert, Key: f.Key},
			says: "reading load.api.tls.cert and key"},
	} {
		if _, err := tlsclient.Config(runplan.API{TLS: &tt.files}); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.says)
		}
	}
}
