package client

import (
	"bufio"
	"io"
	"net"
	"testing"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
)

// TestAConnectionThatWasIdleForTooLongIsNoChurn: what it costs is a new connect, which the next request shows.
func TestAConnectionThatWasIdleForTooLongIsNoChurn(t *testing.T) {
	const keepAlive = 20 * time.Millisecond
	for _, row := range []struct {
		name    string
		idle    time.Duration // of the kept connection until its server ends it
		sends   bool          // the next request is on its way by then
		goodbye string
		churn   int
	}{
		{name: "closed after its keep-alive time", idle: keepAlive},
		{name: "closed after its keep-alive time, with a word", idle: keepAlive, goodbye: answered(408, "", "bye")},
		{name: "closed after its keep-alive time, as a request came", idle: keepAlive, sends: true},
		{name: "closed right behind the answer", churn: 1},
		{name: "closed as a request came that did not wait", sends: true, churn: 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			end := make(chan struct{})
			r := newRig(t, serve(t, func(conn net.Conn) {
				in := bufio.NewReader(conn)
				heard(in)
				io.WriteString(conn, answered(200, "", good))
				<-end
				if row.sends {
					_, _ = in.Peek(1)
				}
				io.WriteString(conn, row.goodbye)
			}, say(answered(200, "", good))), runplan.API{Stream: true}, false)
			pool := r.line.(*Pool)
			pool.keepAlive = int64(keepAlive)
			if row.idle == 0 {
				pool.keepAlive = int64(time.Hour)
			}
			r.put(10)
			ended := r.loop.Now()
			r.until(func() bool { return r.loop.Now() >= ended+int64(row.idle) })
			close(end)
			if !row.sends {
				r.until(func() bool { return len(pool.idle) == 0 })
			}
			o := r.put(10)
			if o.Status != report.StatusOK || o.Reused != 0 || o.Dial <= 0 || (o.StaleRetries == 1) != row.sends {
				t.Errorf("%+v", o)
			}
			if s := r.line.Stats(); s.Opened != 2 || s.Open != 1 || s.Churn != row.churn {
				t.Errorf("%+v, want a churn of %d", s, row.churn)
			}
		})
	}
}
