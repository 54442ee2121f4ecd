package sim

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/sim/wire"
)

// pastDeadline is a deadline that ends a blocked read at once.
func pastDeadline() time.Time { return time.Unix(1, 0) }

// conn is one connection. Its goroutine reads requests and writes short answers; while a stream runs, only the
// pacer's thread writes, and the goroutine waits for the next request or for the client to leave.
type conn struct {
	srv    *Server
	nc     net.Conn // what requests are read from and answers go to: the socket, or TLS over it
	base   net.Conn // the socket
	in     *receiver
	out    sender
	id     int64
	r      *bufio.Reader
	body   []byte
	port   int64
	served int

	running *stream       // the last stream, until it was awaited
	done    chan struct{} // the pacer has let go of running
	ending  atomic.Bool   // close after running
	abort   bool          // close with a reset
	handed  bool          // somebody else closes it
	scratch []byte        // of a flood

	// What one request after another uses. The request itself and its body are read before the last stream is over.
	req    wire.Request
	x      exchange
	params wire.Reader
	spare  *stream // an answer that is over and that nobody else knows
	prefix []byte
}

// newConn returns a connection that speaks TLS unless cfg is nil.
func newConn(s *Server, nc net.Conn, cfg *tls.Config, id int64) *conn {
	c := &conn{srv: s, nc: nc, base: nc, id: id, port: portOf(nc.RemoteAddr()), done: make(chan struct{}, 1)}
	out := newWriter(nc)
	c.in, c.out = newReceiver(nc, s.clock), out
	var from io.Reader = c.in
	if cfg != nil {
		t := newSealed(c.in, out, cfg)
		c.nc, c.out, from = t, t, t
	}
	c.r = bufio.NewReaderSize(from, wire.MaxHead)
	return c
}

func (c *conn) serve() {
	defer c.close()
	if w, ok := c.srv.faults.server(runplan.FaultSlowAccept, c.srv.clock.Now()); ok {
		c.pause(w.duration(200 * time.Millisecond))
	}
	if t, ok := c.nc.(*sealed); ok && !c.shakeHands(t) {
		return
	}
	for c.next() {
		c.served++
	}
}

// next serves one request and returns whether there may be another.
func (c *conn) next() bool {
	_, err := c.r.Peek(1)
	read, arrival := c.in.read, c.in.arrival // before the rest of the request is read
	if err != nil {
		c.waitForStream(true)
		return false
	}
	if c.waitForStream(false); c.ending.Load() {
		return false
	}
	req := &c.req
	err = req.ReadHead(c.r)
	if err == nil {
		err = c.readBody(req)
	}
	if err != nil {
		c.refuse(err)
		return false
	}
	ok := c.handle(req, read, arrival)
	if c.running != nil { // its end decides
		return true
	}
	return ok && !req.Close && !c.ending.Load()
}

// waitForStream waits until the last stream is over; gone means that its client is.
func (c *conn) waitForStream(gone bool) {
	if c.running == nil {
		return
	}
	if gone {
		s := c.running
		c.srv.pacer.Do(func(now int64) { s.cancel(now) })
	}
	<-c.done
	c.out.wait()
	c.running = nil
}

func (c *conn) readBody(req *wire.Request) error {
	if req.Continue {
		if _, err := io.WriteString(c.nc, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return err
		}
	}
	err := req.ReadBody(c.r, c.body)
	c.body = req.Body
	return err
}

// refuse answers a request that cannot be read; nothing is said to a client that has left.
func (c *conn) refuse(err error) {
	var status *wire.StatusError
	if errors.As(err, &status) {
		a := wire.Answer{Style: wire.Style{Close: true}}
		_, _ = c.nc.Write(a.JSON(status.Status, wire.ErrorBody(status.Status, "", status.Message)))
	}
}

// pause waits for d, or until the server closes.
func (c *conn) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.srv.closing:
	}
}

// interrupt ends the read that the goroutine of c is in. It may be called by any goroutine.
func (c *conn) interrupt() {
	c.ending.Store(true)
	_ = c.nc.SetDeadline(pastDeadline())
}

func (c *conn) close() {
	if c.handed {
		return
	}
	if tcp, ok := c.base.(*net.TCPConn); ok && (c.abort || c.srv.crashed.Load()) {
		_ = tcp.SetLinger(0)
	}
	_ = c.nc.Close()
}

// portOf is the port of a TCP address, 0 of others.
func portOf(a net.Addr) int64 {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return int64(tcp.Port)
	}
	return 0
}
