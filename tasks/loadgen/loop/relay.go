package loop

import (
	"net"
	"sync/atomic"
	"time"

	"bflow.dev/bflow/tasks/loadgen/stamp"
)

// relay is a stream whose bytes are read and written by goroutines of its own, because they must be decrypted or
// because the platform has no poller here. Only its stamps are taken there; everything else happens on the loop.
type relay struct {
	loop    *Loop
	conn    net.Conn
	handler Handler
	out     chan []byte
	buf     []byte        // of the Write under way: its caller may use p again once the stream is closed
	back    chan struct{} // the loop has used what was read
	gone    chan struct{} // closed with the stream
	writing atomic.Bool
	stamps  *stamp.Conn // below the encryption; nil where nobody knows more than the reader
	told    bool        // HandleLateSend, of the Write under way
	closed  bool        // nothing is told any more
}

// relayBuffer is how much one read takes at most: the largest record of TLS.
const relayBuffer = 16 << 10

func newRelay(l *Loop, conn net.Conn, h Handler) *relay {
	r := &relay{loop: l, conn: conn, handler: h, out: make(chan []byte, 1), back: make(chan struct{}, 1),
		gone:   make(chan struct{}),
		stamps: stamp.Below(conn)}
	l.relays[r] = struct{}{}
	l.carried.Go(r.reads)
	l.carried.Go(r.writes)
	return r
}

func (r *relay) reads() {
	buf := make([]byte, relayBuffer)
	for {
		n, err := r.conn.Read(buf)
		at := r.loop.Now()
		if n > 0 {
			r.waitForWrite()
			m := mail{relay: r, piece: buf[:n], at: at}
			if r.stamps != nil {
				m.came, m.went = r.stamps.Came(r.loop.anchor), r.stamps.First(r.loop.anchor)
			}
			r.loop.post(m)
			select {
			case <-r.back:
			case <-r.gone:
				return
			}
		}
		if err != nil {
			r.loop.post(mail{relay: r, err: err})
			return
		}
	}
}

// waitForWrite waits a moment for a Write that is about to end: an answer can be read before the goroutine that wrote
// its request says so. A server that answers before it has read the request is not waited for.
func (r *relay) waitForWrite() {
	for i := 0; i < 100 && r.writing.Load(); i++ {
		time.Sleep(10 * time.Microsecond)
	}
}

// writes writes. An error is left to the reader, who first reads what the server has said.
func (r *relay) writes() {
	for p := range r.out {
		if _, err := r.conn.Write(p); err == nil {
			m := mail{relay: r, at: r.loop.Now()}
			if r.stamps != nil {
				m.went = r.stamps.First(r.loop.anchor)
			}
			r.loop.post(m)
		}
		r.writing.Store(false)
	}
}

// take handles, on the loop, what a goroutine has posted.
func (r *relay) take(m *mail) {
	switch {
	case m.piece != nil:
		if !r.closed {
			r.reportLateSend(m.went)
			r.handler.HandleData(m.piece, Stamps{User: m.at, Kernel: m.came})
		}
		r.back <- struct{}{}
	case r.closed:
	case m.err != nil:
		r.Close()
		r.handler.HandleClosed(m.err)
	default:
		r.reportLateSend(m.went)
		r.handler.HandleSent(m.at)
	}
}

func (r *relay) reportLateSend(at int64) {
	if at > 0 && !r.told {
		r.told = true
		r.handler.HandleLateSend(at)
	}
}

// Write implements Stream.
func (r *relay) Write(p []byte) {
	if !r.closed {
		r.buf, r.told = append(r.buf[:0], p...), false
		if r.stamps != nil {
			r.stamps.Mark()
		}
		r.writing.Store(true)
		r.out <- r.buf
	}
}

// Close implements Stream.
func (r *relay) Close() {
	if !r.closed {
		r.closed = true
		close(r.out)
		close(r.gone)
		delete(r.loop.relays, r)
		// TLS says goodbye, and waits up to 5 s where the server does not read
		r.loop.carried.Go(func() { _ = r.conn.Close() })
	}
}
