// Package wire speaks HTTP/1.1 on connections that it keeps: it stamps when a request goes out and when each byte of
// the answer comes in. It must not know what a body means.
package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"syscall"
	"time"
)

// Server is where connections go.
type Server struct {
	Address string // host:port
	Host    string // for the Host header
	Path    string // of the base URL, without a trailing slash
	TLS     *tls.Config
}

// ParseServer reads a base URL such as https://host:8000/base.
func ParseServer(base string, verifyTLS bool) (Server, error) {
	u, err := url.Parse(base)
	if err != nil {
		return Server{}, fmt.Errorf("reading endpoint: %w", err)
	}
	s := Server{Host: u.Host, Path: trimSlash(u.EscapedPath())}
	port := u.Port()
	switch u.Scheme {
	case "http":
		port = orDefault(port, "80")
	case "https":
		port = orDefault(port, "443")
		s.TLS = &tls.Config{ServerName: u.Hostname(), InsecureSkipVerify: !verifyTLS, NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12}
	default:
		return Server{}, fmt.Errorf("reading endpoint %q: want http:// or https://, a host and perhaps a path", base)
	}
	if u.Hostname() == "" {
		return Server{}, fmt.Errorf("reading endpoint %q: the host is missing", base)
	}
	s.Address = net.JoinHostPort(u.Hostname(), port)
	return s, nil
}

func orDefault(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func trimSlash(path string) string {
	for len(path) > 0 && path[len(path)-1] == '/' {
		path = path[:len(path)-1]
	}
	return path
}

// Pool holds the connections to one server. It is safe for concurrent use.
type Pool struct {
	server Server
	dialer net.Dialer

	mu     sync.Mutex
	idle   []*Conn // the last one was used last
	open   int
	peak   int
	opened int
	churn  int
	nextID int
}

// NewPool returns an empty pool; connectTimeout bounds each attempt to connect.
func NewPool(server Server, connectTimeout time.Duration) *Pool {
	return &Pool{server: server, dialer: net.Dialer{Timeout: connectTimeout, KeepAlive: 30 * time.Second}}
}

// Stats counts connections: Opened ever; Churn of them replaced one that had been lost, rather than that more were
// needed at once than ever before.
type Stats struct{ Open, Opened, Churn int }

// Stats returns the counts so far.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{Open: p.open, Opened: p.opened, Churn: p.churn}
}

// Take returns a connection: an idle one, else a new one, and says which.
func (p *Pool) Take(ctx context.Context) (c *Conn, reused bool, err error) {
	for {
		c := p.takeIdle()
		if c == nil {
			c, err = p.Dial(ctx)
			return c, false, err
		}
		if time.Since(c.idleSince) < time.Second || !c.closedByPeer() {
			return c, true, nil
		}
		p.Drop(c)
	}
}

func (p *Pool) takeIdle() *Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	c := p.idle[n-1]
	p.idle = p.idle[:n-1]
	return c
}

// DialError is a failure to connect; TLS says that TCP was connected and the handshake failed.
type DialError struct {
	TLS bool
	Err error
}

func (e *DialError) Error() string { return e.Err.Error() }
func (e *DialError) Unwrap() error { return e.Err }

// Dial opens a new connection.
func (p *Pool) Dial(ctx context.Context) (*Conn, error) {
	conn, err := p.dialer.DialContext(ctx, "tcp", p.server.Address)
	if err != nil {
		return nil, &DialError{Err: fmt.Errorf("connecting to %q: %w", p.server.Address, cause(err))}
	}
	raw := conn
	if p.server.TLS != nil {
		secure := tls.Client(conn, p.server.TLS)
		shake, cancel := context.WithTimeout(ctx, p.dialer.Timeout)
		err := secure.HandshakeContext(shake)
		cancel()
		if err != nil {
			_ = conn.Close()
			return nil, &DialError{TLS: true, Err: fmt.Errorf("securing the connection to %q: %w", p.server.Address, err)}
		}
		conn = secure
	}
	c := &Conn{Conn: conn, raw: raw, buf: make([]byte, 0, 16<<10)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open++
	p.opened++
	p.nextID++
	c.ID = p.nextID
	if p.open > p.peak {
		p.peak = p.open
	} else {
		p.churn++
	}
	return c, nil
}

// cause drops the address that a dial error repeats.
func cause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// Put gives back a connection whose answer was read to its end.
func (p *Pool) Put(c *Conn) {
	c.idleSince = time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, c)
}

// Drop closes a connection that cannot be used again.
func (p *Pool) Drop(c *Conn) {
	_ = c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open--
}

// Warm opens connections until n are open and returns how many it opened.
func (p *Pool) Warm(ctx context.Context, n int) (int, error) {
	p.mu.Lock()
	missing := n - p.open
	p.mu.Unlock()
	for i := range missing {
		c, err := p.Dial(ctx)
		if err != nil {
			return i, err
		}
		p.Put(c)
	}
	return max(0, missing), nil
}

// Close closes the idle connections.
func (p *Pool) Close() {
	for c := p.takeIdle(); c != nil; c = p.takeIdle() {
		p.Drop(c)
	}
}

// closedByPeer looks, without waiting, whether the server has closed an idle connection or sent what nobody asked for.
func (c *Conn) closedByPeer() bool {
	sys, ok := c.raw.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sys.SyscallConn()
	if err != nil {
		return true
	}
	gone := false
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		gone = !errors.Is(err, syscall.EAGAIN)
	})
	return gone || err != nil
}
