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

// TestALateReaderIsToldOfAReset: the kernel tells an error of a socket once, and looking before reading must not lose it.
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
			for c.careful.IsZero() { // the kernel begins to stamp a moment after it was asked to
				io.WriteString(far, "late")
				wait(time.Millisecond)
				if _, err := c.Read(buf); err != nil {
					t.Fatal(err)
				}
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

// wait lets others run for so long.
func wait(d time.Duration) {
	for begin := time.Now(); time.Now().Before(begin.Add(d)); {
		runtime.Gosched()
	}
}
