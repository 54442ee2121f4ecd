package stamp

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"runtime"
	"testing"
	"time"

	"bflow.dev/bflow/internal/eventually"
)

// pair returns both ends of a connection; the first has stamps.
func pair(t *testing.T) (*Conn, net.Conn) {
	t.Helper()
	k, err := Keep()
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(k.Close)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	near, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close() })
	c, ok := On(near).(*Conn)
	if !ok {
		t.Skip("this kernel gives no receive stamps")
	}
	return c, far
}

// at is this moment in ns since anchor.
func at(anchor time.Time) int64 { return time.Now().UnixNano() - anchor.UnixNano() }

// late waits until the kernel has something for c, and then for longer, as a reader who is late; it returns when it was
// there.
func late(t *testing.T, c *Conn, anchor time.Time) (there int64) {
	t.Helper()
	eventually.True(t, "the kernel has it", func() bool { return readable(t, c) })
	for there = at(anchor); at(anchor) < there+20e6; {
		runtime.Gosched()
	}
	return there
}

func TestAStampTellsOfTheArrivalAndNotOfTheReading(t *testing.T) {
	plain := func(t *testing.T, c *Conn, far net.Conn) (net.Conn, net.Conn) { return c, far }
	encrypted := func(t *testing.T, c *Conn, far net.Conn) (net.Conn, net.Conn) {
		srv := httptest.NewTLSServer(nil) // for its certificate
		srv.Close()
		server := tls.Server(far, srv.TLS)
		shaken := make(chan error, 1)
		go func() { shaken <- server.Handshake() }()
		client := tls.Client(c, &tls.Config{InsecureSkipVerify: true})
		if err := errors.Join(client.Handshake(), <-shaken); err != nil {
			t.Fatal(err)
		}
		return client, server
	}
	for name, over := range map[string]func(*testing.T, *Conn, net.Conn) (net.Conn,
		net.Conn){"plain": plain, "TLS": encrypted} {
		t.Run(name, func(t *testing.T) {
			anchor := time.Now()
			c, far := pair(t)
			near, far := over(t, c, far)
			if Below(near) != c {
				t.Fatal("it is not found below")
			}
			buf := make([]byte, 100)
			for _, word := range []string{"first", "second"} {
				before := at(anchor)
				io.WriteString(far, word)
				there := late(t, c, anchor)
				n, err := near.Read(buf)
				if err != nil || string(buf[:n]) != word {
					t.Fatalf("read %q, %v", buf[:n], err)
				}
				if came := c.Came(anchor); came < before-1e6 || came > there+1e6 {
					t.Errorf("%q was written after %d and there at %d; its stamp is %d", word, before, there, came)
				}
			}
		})
	}
}

func TestAWriteIsStampedBeforeItGoes(t *testing.T) {
	anchor := time.Now()
	c, far := pair(t)
	if c.First(anchor) != 0 || c.Last(anchor) != 0 || c.Came(anchor) != 0 {
		t.Error("something is stamped before anything came or went")
	}
	begin := at(anchor)
	for range 2 {
		io.WriteString(c, "x")
	}
	if _, err := io.ReadFull(far, make([]byte, 2)); err != nil {
		t.Fatal(err)
	}
	first, last, there := c.First(anchor), c.Last(anchor), at(anchor)
	if first < begin || last <= first || last > there {
		t.Errorf("written from %d to %d: first %d, last %d", begin, there, first, last)
	}
	c.Mark()
	if c.First(anchor) != 0 || c.Last(anchor) != last {
		t.Errorf("after a mark: first %d, last %d", c.First(anchor), c.Last(anchor))
	}
}

func TestAConnectionEndsAsOthersDo(t *testing.T) {
	buf := make([]byte, 1)
	t.Run("its far end closes it", func(t *testing.T) {
		c, far := pair(t)
		far.Close()
		if n, err := c.Read(buf); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("read %d, %v", n, err)
		}
	})
	t.Run("it is closed", func(t *testing.T) {
		c, _ := pair(t)
		c.Close()
		if _, err := c.Read(buf); !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
	t.Run("it is out of time", func(t *testing.T) {
		c, _ := pair(t)
		c.SetReadDeadline(time.Unix(1, 0))
		if _, err := c.Read(buf); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
	})
	t.Run("the far end resets it", func(t *testing.T) {
		c, far := pair(t)
		far.(*net.TCPConn).SetLinger(0)
		far.Close()
		var op *net.OpError
		if _, err := c.Read(buf); !errors.As(err, &op) {
			t.Error(err)
		}
	})
}

func TestAClockThatWasSetGivesNoStamp(t *testing.T) {
	const user = int64(10 * time.Hour)
	for _, row := range []struct {
		name string
		at   int64
		want bool
	}{
		{"a moment before the reading", user - 5000, true},
		{"at the reading", user, true},
		{"after the reading", user + 1, false},
		{"hours before", user - int64(2*time.Hour), false},
	} {
		if got := Plausible(row.at, user); got != row.want {
			t.Errorf("%s: %v", row.name, got)
		}
	}
}

func TestReadingLeavesNoGarbage(t *testing.T) {
	c, far := pair(t)
	buf := make([]byte, 1)
	if n := testing.AllocsPerRun(100, func() {
		far.Write(buf)
		if _, err := c.Read(buf); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("a read leaves %v pieces of garbage", n)
	}
}

// TestALateReaderTellsWhenEachSegmentCame: what came by several writes before it was read is read write by write, each
// with the stamp of its own.
func TestALateReaderTellsWhenEachSegmentCame(t *testing.T) {
	anchor := time.Now()
	c, far := pair(t)
	texts := []string{"one", "two and more", "three", "and the fourth"}
	var got []string
	for range 50 { // a connection begins with segments that are acknowledged at once, and joined
		io.WriteString(c, "ask")
		if _, err := io.ReadFull(far, make([]byte, 3)); err != nil {
			t.Fatal(err)
		}
		var written [][2]int64
		for _, text := range texts {
			begin := at(anchor)
			io.WriteString(far, text)
			written = append(written, [2]int64{begin, at(anchor)})
			for at(anchor) < begin+1e6 { // what waits for 40 ms is acknowledged
				runtime.Gosched()
			}
		}
		got = nil
		good, buf := true, make([]byte, 100)
		for left := len("onetwo and morethreeand the fourth"); left > 0; {
			n, err := c.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			i := len(got)
			const slip = 20e3 // between the clocks, which are read one after the other
			came := c.Came(anchor)
			good = good && i < len(texts) && string(buf[:n]) == texts[i] && came >= written[i][0]-slip &&
				came <= written[i][1]+slip
			got, left = append(got, string(buf[:n])), left-n
		}
		if good && len(got) == len(texts) {
			return
		}
	}
	t.Errorf("in no round were they told apart; in the last came %q", got)
}
