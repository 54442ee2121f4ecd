// Package client puts one request to a model server, reads its answer as it streams, and stamps both.
// It must not decide when a request is sent or what its numbers mean.
package client

import (
	"context"
	"errors"
	"time"

	"bflow.dev/bflow/tasks/loadgen/record"
	"bflow.dev/bflow/tasks/loadgen/wire"
	"bflow.dev/bflow/tasks/report"
)

// Client puts a request and says what became of it.
type Client interface {
	// Do sends r and reads the answer to its end. It fills the stamps from Dial on, the counts and the status of o.
	// A context that ends cuts the request off: with the cause ErrCut its status is cut, else cancelled.
	Do(ctx context.Context, r *Request, o *record.Outcome)
}

// ErrCut is the cause with which the end of a stage cuts off what is in flight.
var ErrCut = errors.New("cut off by the end of the stage")

// Request is one request, ready to be sent.
type Request struct {
	ID       string
	Body     []byte
	KeepText bool // the next turn needs the answer
}

// HTTP is the Client of OpenAI-like servers.
type HTTP struct {
	Pool    *wire.Pool
	API     API
	Timeout time.Duration
	Anchor  time.Time // zero of all stamps
}

var _ Client = (*HTTP)(nil)

func (c *HTTP) now() int64 { return int64(time.Since(c.Anchor)) }

// Do implements Client.
func (c *HTTP) Do(ctx context.Context, r *Request, o *record.Outcome) {
	x := exchange{HTTP: c, ctx: ctx, request: r, o: o}
	err := x.run()
	if errors.Is(err, errStale) {
		o.StaleRetries++
		x.fresh = true
		err = x.run()
	}
	x.judge(err)
}

// exchange is one attempt at one request.
type exchange struct {
	*HTTP
	ctx      context.Context
	request  *Request
	o        *record.Outcome
	fresh    bool // take a new connection
	lastByte int64
	answer   answer
}

// errStale is a failure on a kept connection before any byte of the answer: the server had closed it.
var errStale = errors.New("the kept connection was closed")

func (x *exchange) run() error {
	conn, reused, err := x.connect()
	if err != nil {
		return err
	}
	x.o.Conn, x.o.Reused = int64(conn.ID), 0
	if reused {
		x.o.Reused = 1
	}
	stop := context.AfterFunc(x.ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	resp, err := x.send(conn)
	if err == nil {
		err = x.read(resp)
	}
	if resp != nil {
		x.o.BytesIn = resp.BytesRead
	}
	// The deadline of a context that ended may come at any later moment: such a connection is not kept.
	if stop() && resp != nil && resp.Reusable() && (err == nil || x.o.End >= 0) {
		x.Pool.Put(conn)
	} else {
		x.Pool.Drop(conn)
	}
	if err != nil && reused && x.o.FirstByte < 0 && x.ctx.Err() == nil && isClosed(err) {
		return errStale
	}
	return err
}

func (x *exchange) connect() (conn *wire.Conn, reused bool, err error) {
	start := x.now()
	if x.fresh {
		conn, err = x.Pool.Dial(x.ctx)
	} else {
		conn, reused, err = x.Pool.Take(x.ctx)
	}
	if !reused {
		x.o.Dial += x.now() - start
	}
	return conn, reused, err
}

func (x *exchange) send(conn *wire.Conn) (*wire.Response, error) {
	message := x.API.message(x.request)
	defer x.API.recycle(message)
	x.o.BytesOut = int64(len(*message))
	x.o.Send = x.now()
	x.lastByte = x.o.Send
	if err := conn.SetDeadline(x.Anchor.Add(time.Duration(x.o.Send) + x.Timeout)); err != nil {
		return nil, err
	}
	if x.ctx.Err() != nil {
		return nil, context.Cause(x.ctx)
	}
	if _, err := conn.Write(*message); err != nil {
		return nil, err
	}
	x.o.Sent = x.now()
	return conn.ReadHead(func() {
		x.o.FirstByte = x.now()
		x.lastByte = x.o.FirstByte
	})
}

// judge gives the outcome its status from how the exchange ended.
func (x *exchange) judge(err error) {
	o := x.o
	if x.answer.hasUsage {
		o.TokenSource = SourceUsage
	}
	switch {
	case err == nil && o.Out <= 0 && o.Events() == 0 && !x.answer.tokens:
		o.Status = report.StatusEmpty
	case err == nil:
		o.Status = report.StatusOK
	case x.ctx.Err() != nil && errors.Is(context.Cause(x.ctx), ErrCut):
		o.Status, o.End = report.StatusCut, record.Absent
	case x.ctx.Err() != nil:
		o.Status, o.Class, o.End = report.StatusCancelled, report.ErrCancelled, record.Absent
	default:
		o.Status, o.Class = x.classify(err)
		o.Error = x.API.Clean(x.describe(err))
		if o.End < 0 {
			o.End = x.now()
		}
	}
}
