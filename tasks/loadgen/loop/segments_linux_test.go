package loop

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// piece is what one call of HandleData brought.
type piece struct {
	text   string
	kernel int64
}

// pieces is a handler that keeps them apart, and calls then after each.
type pieces struct {
	heard
	all  []piece
	then func()
}

func (p *pieces) HandleData(b []byte, at Stamps) {
	p.all = append(p.all, piece{string(b), at.Kernel})
	p.heard.HandleData(b, at)
	if p.then != nil {
		p.then()
	}
}

// lateRound sends what is given to a loop whose thread does not run before all is there, and returns when the writing
// of each began and ended. The server answers a request, and so the kernel of the client acknowledges with the next
// one.
func lateRound(
	t *testing.T, l *Loop, s Stream, h *pieces, far net.Conn, texts []string, apart time.Duration,
) (written [][2]int64) {
	t.Helper()
	h.all, h.data, h.sent = nil, nil, 0
	s.Write([]byte("ask"))
	until(t, l, func() bool { return h.sent > 0 })
	var ask [3]byte
	if _, err := io.ReadFull(far, ask[:]); err != nil {
		t.Fatal(err)
	}
	total := 0
	all := make(chan error)
	go func() {
		for _, text := range texts {
			begin := l.Now()
			if _, err := io.WriteString(far, text); err != nil {
				all <- err
				return
			}
			written = append(written, [2]int64{begin, l.Now()})
			total += len(text)
			for l.Now() < begin+int64(apart) {
				runtime.Gosched()
			}
		}
		all <- nil
	}()
	if err := <-all; err != nil {
		t.Fatal(err)
	}
	until(t, l, func() bool { return len(h.data) >= total || h.closed != nil || s.(*socket).fd < 0 })
	return written
}

func newPieces(t *testing.T, l *Loop) (Stream, *pieces, net.Conn) {
	t.Helper()
	runtime.LockOSThread() // for good: it ends with the test
	s, _, far := pair(t, l, "tcp", false)
	h := &pieces{}
	setHandler(s, h)
	return s, h, far
}

// rounds are enough for a connection to leave the state in which each segment is acknowledged at once.
const rounds = 50

// TestALateLoopTellsWhenEachSegmentCame: the stamps of what it reads at one go lie in the writing of each.
func TestALateLoopTellsWhenEachSegmentCame(t *testing.T) {
	l := newLoop(t)
	s, h, far := newPieces(t, l)
	texts := []string{"one", "two and more", "three", "and the fourth"}
	for range rounds {
		written := lateRound(t, l, s, h, far, texts, time.Millisecond)
		if h.at.Kernel == 0 {
			t.Skip("this kernel gives no receive stamps")
		}
		good := len(h.all) == len(texts)
		for i := range min(len(h.all), len(texts)) {
			const slip = 20e3 // between the clocks, which are read one after the other
			at := h.all[i].kernel
			good = good && h.all[i].text == texts[i] && at >= written[i][0]-slip && at <= written[i][1]+slip
		}
		if good {
			return
		}
	}
	t.Errorf("in no round were they told apart; in the last came %+v", h.all)
}

func TestNothingIsLostOrMixedUpBetweenSegments(t *testing.T) {
	l := newLoop(t)
	s, h, far := newPieces(t, l)
	r := rand.New(rand.NewPCG(1, 2))
	for round := range rounds {
		var texts []string
		var want bytes.Buffer
		for range 1 + r.IntN(2*mostSegments) {
			text := bytes.Repeat([]byte{byte('a' + r.IntN(26))}, 1+r.IntN(300))
			texts = append(texts, string(text))
			want.Write(text)
		}
		lateRound(t, l, s, h, far, texts, time.Duration(r.IntN(20))*time.Microsecond)
		if string(h.data) != want.String() {
			t.Fatalf("round %d: %d bytes came of %d, or others", round, len(h.data), want.Len())
		}
		for i := range h.all[1:] {
			if h.all[i+1].kernel < h.all[i].kernel {
				t.Errorf("round %d: stamp %d after %d", round, h.all[i+1].kernel, h.all[i].kernel)
			}
		}
	}
}

func TestAStreamMayBeClosedBetweenSegments(t *testing.T) {
	for range rounds {
		l := newLoop(t)
		s, h, far := newPieces(t, l)
		lateRound(t, l, s, h, far, []string{"a", "b"}, time.Millisecond) // it is late, and looks from now on
		lateRound(t, l, s, h, far, []string{"a", "b"}, time.Millisecond)
		h.then = s.Close
		lateRound(t, l, s, h, far, []string{"c", "d", "e"}, time.Millisecond)
		if len(h.all) != 1 || h.closed != nil {
			t.Fatalf("after Close came %+v, %v", h.all, h.closed)
		}
	}
}

// TestALateLoopIsToldOfAReset: the kernel tells an error of a socket once, and looking before reading must not lose it.
func TestALateLoopIsToldOfAReset(t *testing.T) {
	for _, text := range []string{"", "and what was sent before"} {
		l := newLoop(t)
		s, h, far := newPieces(t, l)
		lateRound(t, l, s, h, far, []string{"a", "b"}, time.Millisecond) // it is late, and looks from now on
		lateRound(t, l, s, h, far, []string{"a", "b"}, time.Millisecond)
		h.data = nil
		io.WriteString(far, text)
		far.(*net.TCPConn).SetLinger(0)
		far.Close()
		for begin := l.Now(); l.Now() < begin+1e6; {
			runtime.Gosched()
		}
		until(t, l, func() bool { return h.closed != nil })
		if !errors.Is(h.closed, syscall.ECONNRESET) || string(h.data) != text {
			t.Errorf("got %q, then %v, want %q and a reset", h.data, h.closed, text)
		}
	}
}
