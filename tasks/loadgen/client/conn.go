package client

import (
	"errors"
	"io"

	"bflow.dev/bflow/tasks/loadgen/loop"
	"bflow.dev/bflow/tasks/loadgen/record"
	"bflow.dev/bflow/tasks/loadgen/wire"
)

// conn is one connection and the exchange on it.
type conn struct {
	pool   *Pool
	stream loop.Stream
	id     int64
	parse  wire.Parser
	x      *Exchange // nil while it is idle
	used   bool
	sent   bool
	idle   int64 // since when it is idle
	rested int64 // for how long it was, before what it carries
}

var (
	_ loop.Handler = (*conn)(nil)
	_ wire.Sink    = (*conn)(nil)
	_ carrier      = (*conn)(nil)
)

// carry sends x.
func (c *conn) carry(x *Exchange) {
	x.start(c)
	o := x.Outcome
	o.Conn, o.Reused = c.id, 0
	if c.used {
		o.Reused = 1
	}
	c.x, c.used, c.sent = x, true, false
	c.parse.Next()
	now := c.pool.loop.Now()
	c.rested = now - c.idle
	x.stampSend(now)
	c.stream.Write(x.Message)
}

// HandleLateSend implements loop.Handler.
func (c *conn) HandleLateSend(at int64) {
	if c.x != nil && c.x.Outcome.FirstByte < 0 {
		c.x.stampLateSend(at)
	}
}

// HandleSent implements loop.Handler.
func (c *conn) HandleSent(at int64) {
	c.sent = true
	if c.x != nil {
		c.x.Outcome.Sent = at
	}
}

// HandleData implements loop.Handler.
func (c *conn) HandleData(p []byte, at loop.Stamps) {
	x := c.x
	if x == nil { // nobody asked for it: some servers say why they are about to close
		c.stream.Close()
		c.noteIdleClose(at.User - c.idle)
		c.pool.forget(c)
		return
	}
	x.stampArrival(at)
	n, err := c.parse.Feed(p, c)
	if c.x != x { // given up meanwhile
		return
	}
	switch {
	case err != nil:
		c.leave()
		x.end(err, at.User)
	case c.parse.Done():
		c.finish(n == len(p))
	default:
		if err := x.hold(c.parse.Held()); err != nil {
			c.leave()
			x.end(err, at.User)
		}
	}
}

// Head and Body implement wire.Sink.
func (c *conn) Head(h *wire.Head) error { return c.x.takeHead(h) }
func (c *conn) Body(piece []byte) error { return c.x.takePiece(piece) }

// finish ends the exchange whose answer is whole; clean says that nothing follows it.
func (c *conn) finish(clean bool) {
	x := c.x
	c.x = nil
	x.Outcome.BytesIn = c.parse.Bytes
	err := x.finishBody()
	if clean && c.parse.Keep() && c.sent {
		c.pool.keep(c)
	} else {
		c.stream.Close()
		c.pool.forget(c)
	}
	x.end(err, x.read.User)
}

// HandleClosed implements loop.Handler.
func (c *conn) HandleClosed(err error) {
	c.pool.forget(c)
	x := c.x
	if x == nil {
		c.noteIdleClose(c.pool.loop.Now() - c.idle)
		return
	}
	c.x = nil
	x.Outcome.BytesIn = c.parse.Bytes
	if x.Outcome.Reused == 1 && x.Outcome.FirstByte < 0 && isClosed(err) {
		c.noteIdleClose(c.rested) // the request and the end of its keep-alive time met on the way
		c.reconnect(x)
		return
	}
	if errors.Is(err, io.EOF) {
		if err = c.parse.End(); err == nil {
			err = x.finishBody()
		}
	}
	switch {
	case err == nil:
	case x.answer.done: // the answer is whole; only the end of its framing is missing
		err = x.checkComplete()
	case x.answer.status > 0 && x.answer.status != 200: // so is what the server had to say
		err = x.finishBody()
	}
	x.end(err, c.pool.loop.Now())
}

// noteIdleClose notes that the server has closed the connection when it had been idle for so long. One that is closed
// because it was idle costs a new connect, which is measured, and is replaced through no fault of the server.
func (c *conn) noteIdleClose(idle int64) {
	if idle >= c.pool.keepAlive {
		c.pool.peak--
	}
}

// reconnect puts x on a new connection: the server had given up the kept one.
func (c *conn) reconnect(x *Exchange) {
	o := x.Outcome
	o.StaleRetries++
	tried := o.Send
	o.Send, o.Sent = record.Absent, record.Absent
	c.pool.connectFor(x, tried)
}

// drop implements carrier. That the connection is replaced is then no fault of the server.
func (c *conn) drop() {
	c.leave()
	c.pool.peak--
}

// leave takes the exchange off the connection, which is of no more use.
func (c *conn) leave() {
	c.x.Outcome.BytesIn = c.parse.Bytes
	c.x = nil
	c.stream.Close()
	c.pool.forget(c)
}
