package loop

import (
	"errors"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/internal/realtime"
	"bflow.dev/bflow/tasks/loadgen/stamp"
)

// heard is a handler that keeps what it is told.
type heard struct {
	data       []byte
	at         Stamps
	sent, went int64
	closed     error
}

func (h *heard) HandleData(p []byte, at Stamps) { h.data, h.at = append(h.data, p...), at }
func (h *heard) HandleSent(at int64)            { h.sent = at }
func (h *heard) HandleLateSend(at int64)        { h.went = at }
func (h *heard) HandleClosed(err error)         { h.closed = err }

func newLoop(t *testing.T) *Loop {
	t.Helper()
	l, err := New(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// until runs l until ok.
func until(t *testing.T, l *Loop, ok func() bool) {
	t.Helper()
	for end := l.Now() + int64(eventually.Limit); !ok(); {
		if l.Now() > end {
			t.Fatalf("nothing happened for %s", eventually.Limit)
		}
		l.Wait(l.Now()+1e8, false)
	}
}

// hidden is a connection that is no plain socket, as TLS makes them.
type hidden struct{ net.Conn }

func (h hidden) NetConn() net.Conn { return h.Conn }

// pair returns both ends of a connection over network; the first is on l.
func pair(t *testing.T, l *Loop, network string, hide bool) (Stream, *heard, net.Conn) {
	t.Helper()
	address := "127.0.0.1:0"
	if network == "unix" {
		address = filepath.Join(t.TempDir(), "s")
	}
	ln, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	near, err := net.Dial(network, ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	h := &heard{}
	if hide {
		near = hidden{stamp.On(near)}
	}
	s, err := l.Attach(near, h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, h, far
}

func TestStreams(t *testing.T) {
	for name, tt := range map[string]struct {
		network string
		hide    bool
	}{"TCP": {"tcp", false}, "a Unix socket": {"unix", false}, "a wrapped connection": {"tcp", true}} {
		t.Run(name, func(t *testing.T) {
			l := newLoop(t)
			s, h, far := pair(t, l, tt.network, tt.hide)
			s.Write([]byte("hello"))
			until(t, l, func() bool { return h.sent > 0 })
			var got [5]byte
			if _, err := io.ReadFull(far, got[:]); err != nil || string(got[:]) != "hello" {
				t.Fatalf("got %q, %v", got, err)
			}
			if stamped := tt.hide && runtime.GOOS == "linux"; stamped != (h.went > 0) || h.went > h.sent {
				t.Errorf("given to the kernel at %d, all of it at %d", h.went, h.sent)
			}
			before := l.Now()
			io.WriteString(far, "world")
			until(t, l, func() bool { return len(h.data) == 5 })
			if h.at.User < before || h.at.Kernel > h.at.User || h.at.Kernel > 0 && h.at.Kernel < before-1e6 {
				t.Errorf("written after %d, stamps: %+v", before, h.at)
			}
			far.Close()
			until(t, l, func() bool { return h.closed != nil })
			if !errors.Is(h.closed, io.EOF) {
				t.Errorf("closed with %v", h.closed)
			}
		})
	}
}

func TestTheKernelStampsWhatCameLongBeforeItWasRead(t *testing.T) {
	l := newLoop(t)
	s, h, far := pair(t, l, "tcp", false)
	io.WriteString(far, "x")
	eventually.True(t, "the kernel has it", func() bool { return readable(s) })
	there := l.Now()
	for l.Now() < there+20e6 { // the reader is late on purpose
		runtime.Gosched()
	}
	until(t, l, func() bool { return h.data != nil })
	if h.at.Kernel == 0 {
		t.Skip("this kernel gives no receive stamps")
	}
	if late := h.at.Kernel - there; late > 1e6 || h.at.User < there+20e6 {
		t.Errorf("stamped %d ns after it was there, read %d ns after it", late, h.at.User-there)
	}
}

func TestTheLoopSaysUntilWhenNothingHadCome(t *testing.T) {
	l := newLoop(t)
	_, other, farOther := pair(t, l, "tcp", false)
	_, h, far := pair(t, l, "tcp", false)
	begin := l.Now()
	io.WriteString(farOther, "x")
	until(t, l, func() bool { return other.data != nil })
	io.WriteString(far, "y")
	until(t, l, func() bool { return h.data != nil })
	if h.at.After == 0 && runtime.GOOS != "linux" {
		t.Skip("only on Linux does the loop poll sockets itself")
	}
	if at := h.at; at.After < begin || at.After <= other.at.After || at.After > at.User {
		t.Errorf("begun at %d, then came %+v, then %+v", begin, other.at, at)
	}
}

func TestAWriteLargerThanTheKernelTakesIsFinishedLater(t *testing.T) {
	for name, hide := range map[string]bool{"a socket": false, "a relay": true} {
		t.Run(name, func(t *testing.T) {
			l := newLoop(t)
			s, h, far := pair(t, l, "tcp", hide)
			const size = 32 << 20
			s.Write(make([]byte, size))
			if !hide && h.sent > 0 {
				t.Fatal("the kernel took 32 MiB at once")
			}
			read := make(chan int64, 1)
			go func() { n, _ := io.CopyN(io.Discard, far, size); read <- n }()
			until(t, l, func() bool { return h.sent > 0 })
			if n := <-read; n != size {
				t.Errorf("%d bytes arrived", n)
			}
		})
	}
}

func TestPostWakesASleepingLoop(t *testing.T) {
	l := newLoop(t)
	called := false
	go l.Post(func() { called = true })
	start := l.Now()
	for !called {
		l.Wait(start+60e9, false)
	}
	if l.Now()-start > 30e9 {
		t.Error("the loop slept on")
	}
}

func TestWaitIsAwakeWhenTheTimeComes(t *testing.T) {
	l := newLoop(t)
	defer realtime.Pin()()
	for range 50 {
		at := l.Now() + 500_000
		l.Wait(at, true)
		if l.Now() < at {
			t.Fatal("it returned early although nothing happened")
		}
	}
}
