// Package loop moves the bytes of many connections on one thread and records when each arrived: by the kernel's
// receive timestamp where the platform has one, otherwise by the time of reading. All callbacks run on the thread
// that calls Wait, so they need no locks. It must not know what the bytes mean.
package loop

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Loop is the event loop of a measurement. All but Post and Now belong to one goroutine.
type Loop struct {
	anchor time.Time
	poll   poller

	mu      sync.Mutex
	mail    []mail
	some    atomic.Bool // there is mail
	closed  bool
	waiting atomic.Bool // mail needs a wake-up
	read    []mail      // mail that is being read

	relays  map[*relay]struct{} // that are open
	carried sync.WaitGroup      // the goroutines of relays
}

// mail is what another goroutine hands to the loop: a function, or what a relay has read.
type mail struct {
	f     func()
	relay *relay
	piece []byte
	at    int64 // when it was read, or the Write had ended
	came  int64 // when the kernel received it; 0 = not known
	went  int64 // when the kernel was given the first byte of the Write; 0 = not known
	err   error
}

// Stamps are what is known of the moment at which bytes came.
type Stamps struct {
	User   int64 // when they were read
	Kernel int64 // when the kernel received the last of them; 0 = not known
	After  int64 // when none of them was there yet, as the loop saw; 0 = not known
}

// Handler is told what happens on a stream.
type Handler interface {
	// HandleData is called with bytes that came. They are valid during the call.
	HandleData(p []byte, at Stamps)
	// HandleLateSend is called, once in a Write at most and before HandleSent and what answers it, where its first byte
	// was given to the kernel later than Write was called.
	HandleLateSend(at int64)
	// HandleSent is called when the last byte of a Write was given to the kernel.
	HandleSent(at int64)
	// HandleClosed is called once, when nothing more comes: with io.EOF at the end of the stream. It is not called after
	// Close.
	HandleClosed(err error)
}

// Stream is a connection on a loop. It carries one Write at a time.
type Stream interface {
	// Write sends p, which must not change until HandleSent is called or the stream is closed; HandleSent may be called
	// before Write returns. What goes wrong is told by HandleClosed, later.
	Write(p []byte)
	// Close drops the connection. Its handler hears nothing more.
	Close()
}

// New returns a loop whose stamps are nanoseconds since anchor.
func New(anchor time.Time) (*Loop, error) {
	p, err := newPoller(anchor)
	if err != nil {
		return nil, fmt.Errorf("starting the event loop: %w", err)
	}
	return &Loop{anchor: anchor, poll: p, relays: map[*relay]struct{}{}}, nil
}

// Close calls what was posted, gives back what the loop holds, and waits until nobody moves bytes any more. Streams are
// closed by their owners before.
func (l *Loop) Close() {
	l.open()
	l.mu.Lock()
	l.closed = true
	l.poll.close()
	l.mu.Unlock()
	for r := range l.relays { // that nobody closed
		r.Close()
	}
	l.carried.Wait()
}

// Now returns the stamp of this moment.
func (l *Loop) Now() int64 { return int64(time.Since(l.anchor)) }

// Anchor is the moment of stamp 0.
func (l *Loop) Anchor() time.Time { return l.anchor }

// Post makes the loop call f; false where the loop is closed and never will. It may be called from any goroutine.
func (l *Loop) Post(f func()) bool { return l.post(mail{f: f}) }

// post wakes the loop with the lock held: nothing is written to a descriptor that Close has given back.
func (l *Loop) post(m mail) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.some.Store(true)
	l.mail = append(l.mail, m)
	if l.waiting.CompareAndSwap(true, false) {
		l.poll.wake()
	}
	return true
}

// Attach puts a connection on the loop, which owns it from then on.
func (l *Loop) Attach(conn net.Conn, h Handler) (Stream, error) {
	if s, err := l.poll.attach(conn, h); s != nil || err != nil {
		return s, err
	}
	return newRelay(l, conn, h), nil
}

// Spin is how long before a precise deadline the loop stops sleeping and looks again and again: the kernel wakes a
// sleeper some 50 to 100 us late.
const Spin = 80 * time.Microsecond

// Wait handles what happens until something did or the stamp until has come. It returns early rather than late: with
// precise it is awake when until comes, which costs a processor for the length of Spin.
func (l *Loop) Wait(until int64, precise bool) {
	if l.open() || l.poll.handle(until) {
		return
	}
	for {
		left := until - l.Now()
		if precise {
			left -= int64(Spin)
		}
		if left > 0 {
			l.sleep(left)
		} else {
			l.poll.poll(0)
		}
		if l.open() || l.poll.handle(until) || l.Now() >= until {
			return
		}
	}
}

// sleep blocks for at most so many nanoseconds.
func (l *Loop) sleep(ns int64) {
	l.waiting.Store(true)
	if l.some.Load() { // it came before waiting was seen
		ns = 0
	}
	l.poll.poll(ns)
	l.waiting.Store(false)
}

// open reads the mail; false when there was none.
func (l *Loop) open() bool {
	if !l.some.Load() { // nearly always
		return false
	}
	l.mu.Lock()
	l.read, l.mail = l.mail, l.read[:0]
	l.some.Store(false)
	l.mu.Unlock()
	for i := range l.read {
		m := &l.read[i]
		switch {
		case m.f != nil:
			m.f()
		case m.relay != nil:
			m.relay.take(m)
		}
		*m = mail{}
	}
	return len(l.read) > 0
}

// poller waits for sockets.
type poller interface {
	// attach takes a connection; nil when it cannot, because it is no plain socket.
	attach(conn net.Conn, h Handler) (Stream, error)
	// poll looks what is ready, for at most so many nanoseconds; 0 = without waiting.
	poll(ns int64)
	// handle tells the handlers of what is ready, until the stamp until has come; false when nothing was.
	handle(until int64) bool
	// wake ends a poll that waits. It may be called from any goroutine.
	wake()
	close()
}
