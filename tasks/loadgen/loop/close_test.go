package loop

import (
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// lingering is a connection that takes its time to close, as TLS does where the server does not read.
type lingering struct {
	net.Conn
	closed atomic.Bool
}

func (c *lingering) Close() error {
	err := c.Conn.Close()
	time.Sleep(50 * time.Millisecond) //nolint:forbidigo // the slowness itself
	c.closed.Store(true)
	return err
}

func TestALoopIsClosedWhenNobodyMovesBytesAnyMore(t *testing.T) {
	for name, end := range map[string]func(Stream){
		"its streams were closed before":  func(s Stream) { s.Close() },
		"a stream that nobody has closed": func(Stream) {},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := New(time.Now())
			if err != nil {
				t.Fatal(err)
			}
			near, far := net.Pipe()
			defer far.Close()
			conn := &lingering{Conn: near}
			s, err := l.Attach(conn, &heard{})
			if err != nil {
				t.Fatal(err)
			}
			s.Write([]byte("nobody reads this"))
			end(s)
			l.Close()
			if !conn.closed.Load() {
				t.Error("the connection is still being closed")
			}
		})
	}
}
