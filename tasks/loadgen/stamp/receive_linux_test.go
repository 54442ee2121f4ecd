package stamp

import (
	"errors"
	"io"
	"net"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// TestALateReaderIsToldOfAReset: the kernel tells an error of a socket once, and looking before reading must not lose
// it.
func TestALateReaderIsToldOfAReset(t *testing.T) {
	for _, row := range []struct {
		name  string
		texts []string // that are sent before the reset
	}{
		{"at once", nil},
		{"behind what was sent", []string{"one", "two"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, far := pair(t)
			buf := make([]byte, 100)
			io.WriteString(far, "late")
			wait(time.Millisecond)
			if _, err := c.Read(buf); err != nil || c.careful.IsZero() {
				t.Fatalf("a late read: %v, it looks before the next: %v", err, !c.careful.IsZero())
			}
			want := ""
			for _, text := range row.texts {
				io.WriteString(far, text)
				wait(time.Millisecond)
				want += text
			}
			far.(*net.TCPConn).SetLinger(0)
			far.Close()
			got := ""
			for {
				n, err := c.Read(buf)
				got += string(buf[:n])
				if err == nil {
					continue
				}
				if !errors.Is(err, syscall.ECONNRESET) || got != want {
					t.Errorf("got %q, then %v", got, err)
				}
				return
			}
		})
	}
}

// TestWhatIsReadFirstHasAStampOfItsArrival: not none, and not that of its reading.
func TestWhatIsReadFirstHasAStampOfItsArrival(t *testing.T) {
	anchor := time.Now()
	for range 50 {
		c, far := pair(t)
		io.WriteString(far, "first")
		sent := at(anchor)
		wait(time.Millisecond)
		if _, err := c.Read(make([]byte, 5)); err != nil {
			t.Fatal(err)
		}
		if came := c.Came(anchor); came == 0 || came > sent+500e3 {
			t.Errorf("it came at %d, sent at %d and read a millisecond later", came, sent)
		}
	}
}

// wait lets others run for so long.
func wait(d time.Duration) {
	for begin := time.Now(); time.Now().Before(begin.Add(d)); {
		runtime.Gosched()
	}
}
