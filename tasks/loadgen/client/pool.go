package client

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"

	"bflow.dev/bflow/tasks/loadgen/loop"
	"bflow.dev/bflow/tasks/loadgen/wire"
)

// Pool is the Line of HTTP/1.1: connections that are kept and carry one request at a time. It lives on its loop.
type Pool struct {
	loop    *loop.Loop
	server  wire.Server
	timeout time.Duration // of one attempt to connect

	ctx    context.Context
	cancel context.CancelFunc
	dials  sync.WaitGroup
	idle   []*conn // the last one was used last
	stats  Stats
	peak   int
	nextID int64
	closed bool

	dialing int
	most    int // connections that the limit of open files leaves room for; 0 = not known

	keepAlive int64 // a server that closes a connection sooner after its answer does not keep it
}

// leastKeepAlive is less than any server's keep-alive time (gunicorn has 2 s, uvicorn 5 s), and more than one takes to
// close a connection behind its answer.
const leastKeepAlive = time.Second

// spared are the descriptors that are left to files, when connections take all others.
const spared = 256

// errFull is what a request meets for which there is no descriptor.
var errFull = errors.New("no descriptor is left for another connection: raise the limit of open files (ulimit -n), " +
	"or bound the load with max_inflight")

var _ Line = (*Pool)(nil)

// NewPool returns an empty pool; timeout bounds each attempt to connect.
func NewPool(l *loop.Loop, server wire.Server, timeout time.Duration) *Pool {
	p := &Pool{loop: l, server: server, timeout: timeout, keepAlive: int64(leastKeepAlive)}
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) == nil {
		p.most = max(1, int(min(files.Cur, 1<<30))-spared)
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// Stats implements Line.
func (p *Pool) Stats() Stats { return p.stats }

// Close implements Line. A connection that was being opened is the loop's to close: it was posted, or is none.
func (p *Pool) Close() {
	p.closed = true
	p.cancel()
	p.dials.Wait()
	for _, c := range p.idle {
		c.stream.Close()
	}
	p.stats.Open -= len(p.idle)
	p.idle = nil
}

// Put implements Line.
func (p *Pool) Put(x *Exchange) {
	n := len(p.idle)
	if n == 0 {
		p.connectFor(x, p.loop.Now())
		return
	}
	c := p.idle[n-1]
	p.idle = p.idle[:n-1]
	c.carry(x)
}

// connectFor opens a connection and puts x on it, which wants one since start.
func (p *Pool) connectFor(x *Exchange, start int64) {
	w := &pendingDial{}
	x.start(w)
	p.dial(func(c *conn, err error) {
		if w.dropped {
			if c != nil {
				p.keep(c)
			}
			return
		}
		x.Outcome.Dial += p.loop.Now() - start
		if err != nil {
			x.end(err, p.loop.Now())
			return
		}
		c.carry(x)
	})
}

// pendingDial is the carrier of an exchange whose connection is being opened.
type pendingDial struct{ dropped bool }

func (w *pendingDial) drop() { w.dropped = true }

// dial opens a connection beside the loop and calls done on it.
func (p *Pool) dial(done func(*conn, error)) {
	if p.most > 0 && p.stats.Open+p.dialing >= p.most {
		p.loop.Post(func() { done(nil, &wire.DialError{Err: errFull}) })
		return
	}
	p.dialing++
	p.dials.Go(func() {
		raw, err := p.server.Dial(p.ctx, p.timeout)
		posted := p.loop.Post(func() {
			p.dialing--
			if err != nil {
				done(nil, err)
				return
			}
			c, err := p.attach(raw)
			done(c, err)
		})
		if !posted && raw != nil {
			_ = raw.Close()
		}
	})
}

func (p *Pool) attach(raw net.Conn) (*conn, error) {
	p.nextID++
	c := &conn{pool: p, id: p.nextID}
	var err error
	if c.stream, err = p.loop.Attach(raw, c); err != nil {
		return nil, &wire.DialError{Err: err}
	}
	p.stats.Open++
	p.stats.Opened++
	if p.stats.Open > p.peak {
		p.peak = p.stats.Open
	} else {
		p.stats.Churn++
	}
	return c, nil
}

// atOnce is how many connections are opened at the same time before a stage.
const atOnce = 64

// Warm implements Line.
func (p *Pool) Warm(n int, done func(error)) {
	missing, open, failed := n-p.stats.Open, 0, error(nil)
	var next func()
	opened := func(c *conn, err error) {
		open--
		if c != nil {
			p.keep(c)
		}
		if err != nil && failed == nil {
			failed, missing = err, 0
		}
		next()
	}
	next = func() {
		for ; missing > 0 && open < atOnce; missing-- {
			open++
			p.dial(opened)
		}
		if open == 0 && done != nil {
			finished := done
			done = nil
			finished(failed)
		}
	}
	next()
}

func (p *Pool) keep(c *conn) {
	if p.closed {
		c.stream.Close()
		p.stats.Open--
		return
	}
	c.idle = p.loop.Now()
	p.idle = append(p.idle, c)
}

// forget forgets a connection that is gone.
func (p *Pool) forget(c *conn) {
	p.stats.Open--
	for i := range p.idle {
		if p.idle[i] == c {
			p.idle = append(p.idle[:i], p.idle[i+1:]...)
			return
		}
	}
}
