package loadgen

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/loadgen/stamp"
)

// twoTokens is the answer of the servers of these tests.
func twoTokens() string {
	return events(`{"choices":[{"delta":{"content":"a"}}]}`,
		`{"choices":[{"delta":{"content":"b"}}],"usage":{"prompt_tokens":9,"completion_tokens":2}}`, `[DONE]`)
}

// streams answers with the two tokens in two writes and counts the requests by protocol.
func streams(seen *protocols) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		seen.add(r.Proto)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, part := range strings.SplitAfter(twoTokens(), "\n\n") {
			io.WriteString(w, part)
			w.(http.Flusher).Flush()
		}
	})
}

// protocols counts requests of HTTP/1.1 and HTTP/2.
type protocols struct{ one, two atomic.Int64 }

func (s *protocols) add(proto string) {
	if proto == "HTTP/2.0" {
		s.two.Add(1)
	} else {
		s.one.Add(1)
	}
}

// lineBench is a bench of ten chat requests against an endpoint.
func lineBench(t *testing.T, endpoint string) (*bench, *runplan.API) {
	t.Helper()
	b := newBench(t.TempDir(), closedLoop(3, 10))
	b.endpoint = endpoint
	b.plan.Measurements[0].API = runplan.API{Type: "chat", Path: "/c", Stream: true, Timeout: generous}
	return b, &b.plan.Measurements[0].API
}

// checkTen demands ten requests that are ok, with two tokens and stamps in order.
func checkTen(t *testing.T, r results) {
	t.Helper()
	if len(r.rows) != 10 {
		t.Fatalf("%d rows, error %q", len(r.rows), r.load.Error)
	}
	for _, row := range r.rows {
		if row.Status != report.StatusOK || tokensOut(row) != 2 || *row.Events != 2 || row.FinishReason != "" {
			t.Errorf("row %+v", row)
		}
		stamps := []*int64{&row.TIntended, row.TSend, row.TFirstByte, row.TFirst, row.TLast, row.TEnd}
		for i := 1; i < len(stamps); i++ {
			if stamps[i] == nil || *stamps[i] < *stamps[i-1] {
				t.Errorf("row %q: stamp %d is not behind the one before", row.ID, i)
			}
		}
	}
}

func TestRequestsGoOverAUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var seen protocols
	srv := &http.Server{Handler: streams(&seen)}
	go func() { _ = srv.Serve(ln) }()
	t.Cleanup(func() { srv.Close() })
	b, _ := lineBench(t, "unix://"+path)
	checkTen(t, b.measure(t))
}

// clockHere is whose receive stamps connections have here.
func clockHere(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if stamp.Below(stamp.On(conn)) == nil {
		return clockUser
	}
	return clockKernel
}

func TestRequestsGoOverTLS(t *testing.T) {
	tests := map[string]struct {
		http2    bool
		one, two bool // protocols that were seen
		clock    string
	}{"HTTP/1.1": {one: true, clock: clockHere(t)}, "HTTP/2": {http2: true, two: true, clock: "user"}}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var seen protocols
			srv := httptest.NewUnstartedServer(streams(&seen))
			srv.EnableHTTP2 = true
			srv.StartTLS()
			defer srv.Close()
			b, api := lineBench(t, srv.URL)
			api.HTTP2 = tt.http2
			r := b.measure(t)
			checkTen(t, r)
			two := seen.two.Load() >= 10
			if two != tt.two || r.header.Clock != tt.clock {
				t.Errorf("%d requests of HTTP/1.1, %d of HTTP/2, clock %q", seen.one.Load(), seen.two.Load(), r.header.Clock)
			}
		})
	}
}

func TestAClientShowsItsCertificate(t *testing.T) {
	var seen protocols
	srv := httptest.NewUnstartedServer(streams(&seen))
	srv.StartTLS()
	cert, key := pemOf(t, srv.TLS.Certificates[0])
	srv.Close()

	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	mutual := httptest.NewUnstartedServer(streams(&seen))
	mutual.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	mutual.StartTLS()
	defer mutual.Close()

	b, api := lineBench(t, mutual.URL)
	api.VerifyTLS = true
	api.TLS = &runplan.TLSFiles{CA: cert, Cert: cert, Key: key}
	checkTen(t, b.measure(t))

	b, api = lineBench(t, mutual.URL)
	api.VerifyTLS, api.TLS = true, &runplan.TLSFiles{CA: cert}
	if r := b.measure(t); r.load.Error == "" && r.stages[0].Counts.ByStatus[report.StatusOK] > 0 {
		t.Error("the server took a client without a certificate")
	}
}

// pemOf writes a certificate and its key as PEM files.
func pemOf(t *testing.T, pair tls.Certificate) (cert, key string) {
	t.Helper()
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]},
		key: {Type: "PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func TestAProxyOfTheEnvironmentIsUsed(t *testing.T) {
	var seen protocols
	srv := httptest.NewServer(streams(&seen))
	defer srv.Close()
	var through atomic.Int64
	proxy := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		through.Add(1)
		r.Out.URL = r.In.URL
		r.Out.URL.Scheme, r.Out.URL.Host = "http", srv.Listener.Addr().String()
	}})
	defer proxy.Close()
	b, _ := lineBench(t, "http://model.example:8000")
	b.plan.Deployment.Endpoint = &runplan.Endpoint{BaseURL: b.endpoint}
	b.env["HTTP_PROXY"] = proxy.URL
	checkTen(t, b.measure(t))
	if through.Load() < 10 {
		t.Errorf("%d requests went through the proxy", through.Load())
	}
}

func TestAConnectionThatTheServerGaveUpIsReplacedOnce(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go answerOnce(conn)
		}
	}()
	b, _ := lineBench(t, "http://"+ln.Addr().String())
	r := b.measure(t)
	checkTen(t, r)
	if c := findCheck(r.stages[0], "connections_per_request"); c == nil || c.OK {
		t.Errorf("check %+v: a server that closes its connections is not seen", c)
	}
}

// answerOnce answers one request as if it would keep the connection, and closes it when the next has begun.
func answerOnce(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	req, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, req.Body)
	body := twoTokens()
	resp := &http.Response{StatusCode: 200, ProtoMajor: 1, ProtoMinor: 1, ContentLength: int64(len(body)),
		Body: io.NopCloser(strings.NewReader(body))}
	if resp.Write(conn) == nil {
		_, _ = in.Peek(1)
	}
}
