package loop

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bflow.dev/bflow/internal/eventually"
)

var kinds = map[string]bool{"a socket": false, "a relay": true}

// goroutines waits until no more than n are left.
func goroutines(t *testing.T, n int) {
	t.Helper()
	eventually.Nil(t, "the end of goroutines", func() error {
		if now := runtime.NumGoroutine(); now > n {
			stacks := make([]byte, 1<<16)
			return fmt.Errorf("%d goroutines, there were %d:\n%s", now, n, stacks[:runtime.Stack(stacks, true)])
		}
		return nil
	})
}

func TestWhatTheServerSaidBeforeItBrokeOffIsHeardFirst(t *testing.T) {
	for name, hide := range kinds {
		t.Run(name, func(t *testing.T) {
			l := newLoop(t)
			s, h, far := pair(t, l, "tcp", hide)
			s.Write(make([]byte, 16<<20))
			io.WriteString(far, "too large")
			far.Close() // with bytes unread: the kernel resets the connection
			until(t, l, func() bool { return h.closed != nil })
			if string(h.data) != "too large" {
				t.Errorf("heard %q, then %v", h.data, h.closed)
			}
		})
	}
}

func TestAStreamThatIsOverLeavesNothingBehind(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, l *Loop, s Stream, h *heard, far net.Conn){
		"closed here": func(_ *testing.T, _ *Loop, s Stream, _ *heard, _ net.Conn) { s.Close() },
		"closed here with bytes on the way": func(t *testing.T, l *Loop, s Stream, _ *heard, far net.Conn) {
			io.WriteString(far, "x")
			eventually.True(t, "the reader waits for the loop", func() bool { return unread(l, s) })
			s.Close()
		},
		"closed here in the middle of a Write": func(_ *testing.T, _ *Loop, s Stream, _ *heard, _ net.Conn) {
			s.Write(make([]byte, 16<<20))
			s.Close()
		},
		"closed by the server": func(t *testing.T, l *Loop, _ Stream, h *heard, far net.Conn) {
			far.Close()
			until(t, l, func() bool { return h.closed != nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLoop(t)
			before := runtime.NumGoroutine()
			for range 10 {
				s, h, far := pair(t, l, "tcp", true)
				end(t, l, s, h, far)
				eventually.Bound(far)
				if _, err := io.Copy(io.Discard, far); err != nil && !errors.Is(err, net.ErrClosed) && !isReset(err) {
					t.Fatalf("the connection is still open: %v", err)
				}
			}
			goroutines(t, before) // the loop does not run: nobody may wait for it
		})
	}
}

// unread says whether the reader of s has handed something to l that nobody has taken.
func unread(l *Loop, s Stream) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.mail, func(m mail) bool { return m.relay == s && len(m.piece) > 0 })
}

func isReset(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && !op.Timeout()
}

// chain writes the next message as soon as the one before was answered, and notes when an answer comes before
// HandleSent.
type chain struct {
	heard
	stream  Stream
	message []byte
	rounds  int
	early   int
	sentAll bool
}

func (c *chain) HandleSent(int64)     { c.sentAll = true }
func (c *chain) HandleLateSend(int64) {}
func (c *chain) HandleData([]byte, Stamps) {
	c.rounds++
	if !c.sentAll {
		c.early++
	}
	for i := range c.message { // as the next request would be written into it
		c.message[i]++
	}
	c.sentAll = false
	c.stream.Write(c.message)
}

func TestAnAnswerComesBehindTheEndOfItsRequest(t *testing.T) {
	for name, hide := range kinds {
		t.Run(name, func(t *testing.T) {
			l := newLoop(t)
			s, _, far := pair(t, l, "tcp", hide)
			c := &chain{stream: s, message: make([]byte, 64)}
			switch s := s.(type) {
			case *relay:
				s.handler = c
			default:
				setHandler(s, c)
			}
			bad := make(chan string, 1)
			go func() {
				got := make([]byte, 64)
				for n := 0; ; n++ {
					if _, err := io.ReadFull(far, got); err != nil {
						return
					}
					if !bytes.Equal(got, bytes.Repeat([]byte{byte(n)}, 64)) {
						select {
						case bad <- "a message was changed on its way":
						default:
						}
					}
					far.Write([]byte("ok"))
				}
			}()
			s.Write(c.message)
			until(t, l, func() bool { return c.rounds >= 2000 })
			if c.early > 0 {
				t.Errorf("%d of %d answers came before the end of their request", c.early, c.rounds)
			}
			select {
			case text := <-bad:
				t.Error(text)
			default:
			}
		})
	}
}

func TestAClosedLoopTakesNothing(t *testing.T) {
	l, err := New(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	called := 0
	l.Post(func() { called++ })
	var posts sync.WaitGroup
	var refused atomic.Int64
	for range 8 {
		posts.Go(func() {
			for range 1000 {
				if !l.Post(func() { called++ }) {
					refused.Add(1)
				}
			}
		})
	}
	l.Wait(l.Now()+1e6, false)
	l.Close()
	posts.Wait()
	if l.Post(func() {}) || int64(called)+refused.Load() < 1 || called == 0 {
		t.Errorf("%d calls, %d refused", called, refused.Load())
	}
}

// closer closes itself and another stream when it hears something.
type closer struct {
	heard
	streams []Stream
	calls   int
}

func (c *closer) HandleData([]byte, Stamps) {
	c.calls++
	for _, s := range c.streams {
		s.Close()
	}
}

func TestAHandlerMayCloseStreamsThatAreReadyToo(t *testing.T) {
	l := newLoop(t)
	c := &closer{}
	for range 8 {
		s, _, far := pair(t, l, "tcp", false)
		setHandler(s, c)
		c.streams = append(c.streams, s)
		io.WriteString(far, "x")
	}
	for _, s := range c.streams {
		eventually.True(t, "all are ready at one poll", func() bool { return readable(s) })
	}
	until(t, l, func() bool { return c.calls > 0 })
	// New sockets get the descriptors of those that are gone, of which events may be left.
	for range 8 {
		_, h, far := pair(t, l, "tcp", false)
		io.WriteString(far, "y")
		until(t, l, func() bool { return h.data != nil })
		if h.sent != 0 || h.closed != nil {
			t.Errorf("heard %+v", h)
		}
	}
	if c.calls != 1 {
		t.Errorf("%d calls, want one: the streams were closed in it", c.calls)
	}
}
