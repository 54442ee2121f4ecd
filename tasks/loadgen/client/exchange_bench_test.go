package client

import (
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/loadgen/loop"
	"bflow.dev/bflow/tasks/loadgen/record"
	"bflow.dev/bflow/tasks/loadgen/wire"
)

// silent is a stream of which nobody reads.
type silent struct{}

func (silent) Write([]byte) {}
func (silent) Close()       {}

// BenchmarkAnswers reads whole answers of 128 events from a connection, each event in a read of its own and cut between
// two, as the loop hands them on.
func BenchmarkAnswers(b *testing.B) {
	for _, tt := range []struct {
		name string
		cut  int // bytes of the first read of an event; 0 = it comes whole
	}{{"event by event", 0}, {"in two reads", 100}} {
		b.Run(tt.name, func(b *testing.B) {
			l, err := loop.New(time.Now())
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			api, err := NewAPI(runplan.API{Type: runplan.APIChat, Stream: true, Path: "/x"}, wire.Server{Host: "h"}, "")
			if err != nil {
				b.Fatal(err)
			}
			over := 0
			x := benchExchange(&api, func() { over++ })
			c := &conn{pool: &Pool{loop: l}, stream: silent{}}
			head := []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
			event := "data: " + chatChunk + "\n\n"
			chunk := []byte("cb\r\n" + event + "\r\n")
			if len(event) != 0xcb {
				b.Fatalf("an event has %x bytes", len(event))
			}
			last := []byte("e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				if n%128 == 0 {
					if x.Outcome.Reset(); n > 0 {
						c.pool.idle = c.pool.idle[:0]
					}
					c.carry(x)
					c.HandleSent(1)
					c.HandleData(head, loop.Stamps{User: int64(n)})
				}
				if n++; tt.cut > 0 {
					c.HandleData(chunk[:tt.cut], loop.Stamps{User: int64(n)})
				}
				c.HandleData(chunk[tt.cut:], loop.Stamps{User: int64(n)})
				if n%128 == 0 {
					c.HandleData(last, loop.Stamps{User: int64(n)})
				}
			}
			if over != n/128 || strings.Contains(x.Outcome.Error, "x") {
				b.Fatalf("%d answers of %d events: %q", over, n, x.Outcome.Error)
			}
		})
	}
}

func benchExchange(api *API, over func()) *Exchange {
	return &Exchange{API: api, Outcome: new(record.Outcome), IDPrefix: "p", Over: over, Budget: NewBudget()}
}
