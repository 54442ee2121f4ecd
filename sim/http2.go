package sim

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// http2 serves the connections that agreed on HTTP/2: net/http speaks it, and passes each request on to the engine over
// a socket pair. The times of the truth are those of the engine's side of the pair.
type http2 struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
	srv   *http.Server
}

func startHTTP2(s *Server) *http2 {
	h := &http2{conns: make(chan net.Conn), done: make(chan struct{})}
	quiet := log.New(io.Discard, "", 0)
	engine := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "engine" },
		Transport:     &http.Transport{DialContext: s.openPair, DisableCompression: true, MaxIdleConnsPerHost: 1024},
		FlushInterval: -1,
		ErrorLog:      quiet,
	}
	h.srv = &http.Server{ErrorLog: quiet, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.enter() {
			defer s.wg.Done()
			engine.ServeHTTP(w, r)
		}
	})}
	s.wg.Go(func() { _ = h.srv.Serve(h) })
	return h
}

// hand passes a connection on.
func (h *http2) hand(c *tls.Conn) {
	select {
	case h.conns <- c:
	case <-h.done:
		_ = c.Close()
	}
}

// hangUp ends everything.
func (h *http2) hangUp() { _ = h.srv.Close() }

// Accept implements net.Listener.
func (h *http2) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.done:
		return nil, net.ErrClosed
	}
}

// Addr implements net.Listener.
func (h *http2) Addr() net.Addr { return &net.UnixAddr{Name: "engine", Net: "unix"} }

// Close implements net.Listener.
func (h *http2) Close() error {
	h.once.Do(func() { close(h.done) })
	return nil
}

// openPair opens a connection to the engine itself.
func (s *Server) openPair(context.Context, string, string) (net.Conn, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("opening a socket pair: %w", err)
	}
	var ends [2]net.Conn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "engine")
		ends[i], err = net.FileConn(f)
		_ = f.Close()
		if err != nil {
			return nil, fmt.Errorf("opening a socket pair: %w", err)
		}
	}
	if !s.open(ends[0], nil) {
		return nil, net.ErrClosed
	}
	return ends[1], nil
}
