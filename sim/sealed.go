package sim

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"
)

// handshakeTimeout ends connections that never begin to speak TLS.
const handshakeTimeout = 10 * time.Second

// socket is a connection as TLS sees it: its bytes come with their receive stamps and go without blocking.
type socket struct {
	net.Conn
	in      *receiver
	out     *writer
	blocked bool          // a write since send looked
	closed  chan struct{} // by Close
	once    sync.Once
}

// Close implements net.Conn.
func (s *socket) Close() error {
	defer s.once.Do(func() { close(s.closed) })
	return s.Conn.Close()
}

func (s *socket) Read(p []byte) (int, error) { return s.in.Read(p) }

func (s *socket) Write(p []byte) (int, error) {
	blocked, err := s.out.send(p)
	s.blocked = s.blocked || blocked
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// sealed is TLS over a socket.
type sealed struct {
	*tls.Conn
	socket *socket
}

func newSealed(in *receiver, out *writer, cfg *tls.Config) *sealed {
	s := &socket{Conn: in.nc, in: in, out: out, closed: make(chan struct{})}
	return &sealed{Conn: tls.Server(s, cfg), socket: s}
}

func (t *sealed) send(b []byte) (blocked bool, err error) {
	t.socket.blocked = false
	_, err = t.Write(b)
	return t.socket.blocked, err
}

func (t *sealed) wait() { t.socket.out.wait() }

// shakeHands does the handshake; false means that there is nothing left to do for the connection, which has failed or
// has spoken HTTP/2 to its end.
func (c *conn) shakeHands(t *sealed) bool {
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTimeout)
	defer cancel()
	if err := t.HandshakeContext(ctx); err != nil {
		return false
	}
	if t.ConnectionState().NegotiatedProtocol != "h2" {
		return true
	}
	c.handed = true
	c.srv.http2.hand(t.Conn)
	<-t.socket.closed
	t.wait()
	return false
}
