// Package stamp returns the kernel's timestamps of the bytes read from a connection and of the bytes written to it,
// also under a layer of encryption. It must not know what the bytes mean.
package stamp

import (
	"net"
	"sync/atomic"
	"time"
)

// Conn is a TCP connection that remembers when bytes last came and went. One goroutine reads it at a time, and one
// writes.
type Conn struct {
	net.Conn
	reader
	base  time.Time
	came  atomic.Int64 // stamps since base in ns; 0 = none
	first atomic.Int64
	last  atomic.Int64
}

// Below returns the Conn at the bottom of conn; nil where there is none.
func Below(conn net.Conn) *Conn {
	switch c := conn.(type) {
	case *Conn:
		return c
	case interface{ NetConn() net.Conn }:
		return Below(c.NetConn())
	}
	return nil
}

// Came returns when the kernel received the last byte that was read, in ns since anchor; 0 where it did not say.
func (c *Conn) Came(anchor time.Time) int64 { return c.since(anchor, &c.came) }

// Mark forgets what First tells.
func (c *Conn) Mark() { c.first.Store(0) }

// First returns when the first write since Mark was given to the kernel, in ns since anchor; 0 where none was.
func (c *Conn) First(anchor time.Time) int64 { return c.since(anchor, &c.first) }

// Last returns when the last write was given to the kernel, in ns since anchor; 0 where none was.
func (c *Conn) Last(anchor time.Time) int64 { return c.since(anchor, &c.last) }

func (c *Conn) since(anchor time.Time, stamp *atomic.Int64) int64 {
	at := stamp.Load()
	if at == 0 {
		return 0
	}
	return at + int64(c.base.Sub(anchor))
}

// Write implements net.Conn.
func (c *Conn) Write(p []byte) (int, error) {
	now := max(1, int64(time.Since(c.base)))
	c.first.CompareAndSwap(0, now)
	c.last.Store(now)
	return c.Conn.Write(p)
}
