package client

import (
	"context"
	"net"
	"sync"

	"bflow.dev/bflow/tasks/loadgen/stamp"
)

// opened are the connections of a Fallback, so that it can close them: one of HTTP/2 whose last stream was given up a
// moment ago is not idle yet, and would stay open.
type opened struct {
	mu    sync.Mutex
	conns map[*tracked]struct{} // nil once they were closed
}

// tracked is a connection that opened knows.
type tracked struct {
	net.Conn
	in *opened
}

func (o *opened) dial(ctx context.Context, d *net.Dialer, network, address string) (net.Conn, error) {
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
	c := &tracked{stamp.On(conn), o}
	o.conns[c] = struct{}{}
	return c, nil
}

// NetConn returns what is below.
func (c *tracked) NetConn() net.Conn { return c.Conn }

// Close implements net.Conn.
func (c *tracked) Close() error {
	c.in.mu.Lock()
	delete(c.in.conns, c)
	c.in.mu.Unlock()
	return c.Conn.Close()
}

// close closes those that are open still, and lets nobody open more.
func (o *opened) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for c := range o.conns {
		_ = c.Conn.Close()
	}
	o.conns = nil
}
