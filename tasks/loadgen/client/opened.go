package client

import (
	"context"
	"net"
	"sync"

	"bflow.dev/bflow/tasks/loadgen/stamp"
)

// openConns are the connections of a Fallback, so that it can close them: one of HTTP/2 whose last stream was given up
// a moment ago is not idle yet, and would stay open.
type openConns struct {
	mu    sync.Mutex
	conns map[*trackedConn]struct{} // nil once they were closed
}

// trackedConn is a connection that openConns know.
type trackedConn struct {
	net.Conn
	in *openConns
}

func (o *openConns) dial(ctx context.Context, d *net.Dialer, network, address string) (net.Conn, error) {
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.conns == nil {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	c := &trackedConn{stamp.On(conn), o}
	o.conns[c] = struct{}{}
	return c, nil
}

// NetConn returns what is below.
func (c *trackedConn) NetConn() net.Conn { return c.Conn }

// Close implements net.Conn.
func (c *trackedConn) Close() error {
	c.in.mu.Lock()
	delete(c.in.conns, c)
	c.in.mu.Unlock()
	return c.Conn.Close()
}

// close closes those that are open still, and lets nobody open more.
func (o *openConns) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for c := range o.conns {
		_ = c.Conn.Close()
	}
	o.conns = nil
}
