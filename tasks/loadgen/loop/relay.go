package loop

import (
	"net"
	"sync/atomic"
)

// relay is a stream whose bytes are read and written by goroutines of its own, because they must be decrypted or because
// the platform has no poller here. Only its stamps are taken there; everything else happens on the loop.
type relay struct {
	loop    *Loop
	conn    net.Conn
	handler Handler
	out     chan []byte
	back    chan struct{} // the loop has used what was read
	closed  atomic.Bool
	dead    bool // on the loop: nothing is told any more
}

// relayBuffer is how much one read takes at most: the largest record of TLS.
const relayBuffer = 16 << 10

func newRelay(l *Loop, conn net.Conn, h Handler) *relay {
	r := &relay{loop: l, conn: conn, handler: h, out: make(chan []byte, 1), back: make(chan struct{}, 1)}
	go r.reads()
	go r.writes()
	return r
}

func (r *relay) reads() {
	buf := make([]byte, relayBuffer)
	for {
		n, err := r.conn.Read(buf)
		at := r.loop.Now()
		if n > 0 {
			r.loop.post(mail{relay: r, piece: buf[:n], at: at})
			<-r.back
		}
		if err != nil {
			r.loop.post(mail{relay: r, err: err})
			return
		}
	}
}

func (r *relay) writes() {
	for p := range r.out {
		if _, err := r.conn.Write(p); err != nil {
			r.loop.post(mail{relay: r, err: err})
			continue
		}
		r.loop.post(mail{relay: r, at: r.loop.Now()})
	}
}

// take handles, on the loop, what a goroutine has posted.
func (r *relay) take(m *mail) {
	switch {
	case m.piece != nil:
		if !r.dead {
			r.handler.Data(m.piece, m.at, 0)
		}
		r.back <- struct{}{}
	case r.dead:
	case m.err != nil:
		r.dead = true
		r.handler.Closed(m.err)
	default:
		r.handler.Sent(m.at)
	}
}

// Write implements Stream.
func (r *relay) Write(p []byte) {
	if !r.closed.Load() {
		r.out <- p
	}
}

// Close implements Stream.
func (r *relay) Close() {
	if r.closed.CompareAndSwap(false, true) {
		r.dead = true
		close(r.out)
		_ = r.conn.Close()
	}
}
