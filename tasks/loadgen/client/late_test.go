package client

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/loadgen/loop"
	"bflow.dev/bflow/tasks/loadgen/wire"
)

// TestAReadThatWasLateSaysWhatItHasDone reads an answer of four events, each read with so many of them, taken by the
// kernel and by the reader at these µs.
func TestAReadThatWasLateSaysWhatItHasDone(t *testing.T) {
	type read struct{ events, kernel, user int64 }
	for _, row := range []struct {
		name                             string
		reads                            []read
		byReader                         bool
		after                            int64 // µs
		behind, bunched, first, end, lag int64 // first, end and lag in µs
		within                           int64 // µs
	}{
		{name: "in time", reads: []read{{1, 100, 110}, {1, 200, 210}, {2, 300, 310}}, lag: 10},
		{name: "late, one event each",
			reads: []read{{1, 100, 900}, {1, 1000, 1900}, {1, 2000, 2010}, {1, 3000, 3010}}, lag: 900},
		{name: "late, the first two together", reads: []read{{2, 200, 900}, {1, 1000, 1010}, {1, 2000, 2010}},
			behind: 1, bunched: 1, lag: 700, within: 200},
		{name: "late, the last two together", reads: []read{{1, 200, 210}, {1, 400, 410}, {2, 600, 900}}, bunched: 1,
			lag: 300, within: 600},
		{name: "late, the last two together, and nothing had come before",
			reads: []read{{1, 200, 210}, {1, 400, 410}, {2, 600, 900}}, after: 550, bunched: 1, lag: 300, within: 50},
		{name: "late, two and two together", reads: []read{{2, 200, 900}, {2, 1600, 1700}}, after: 150, behind: 1,
			bunched: 2, lag: 700, within: 1450},
		{name: "stamped before the loop saw nothing", reads: []read{{1, 200, 210}, {1, 400, 410}, {2, 600, 900}},
			after: 700, bunched: 1, lag: 300, within: 600},
		{name: "one read whose bytes come in two records", reads: []read{{1, 200, 900}, {1, 200, 910}, {2, 1000, 1010}},
			behind: 1, bunched: 1, lag: 710, within: 200},
		{name: "stamps of the reader", reads: []read{{1, 100, 900}, {1, 1000, 1010}, {2, 2000, 2500}}, byReader: true,
			bunched: 1, first: 800, end: 500, lag: 800, within: 2000},
		{name: "the kernel says nothing", reads: []read{{2, 0, 900}, {2, 0, 1900}}, lag: -1},
	} {
		t.Run(row.name, func(t *testing.T) {
			l, err := loop.New(time.Now())
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			api, err := NewAPI(runplan.API{Type: runplan.APIChat, Stream: true, Path: "/x"}, wire.Server{Host: "h"}, "")
			if err != nil {
				t.Fatal(err)
			}
			over := false
			x := benchExchange(&api, func() { over = true })
			x.ByReader = row.byReader
			x.Outcome.Reset()
			c := &conn{pool: &Pool{loop: l}, stream: silent{}}
			c.carry(x)
			x.Outcome.Send, x.lastByte = 0, 0
			c.HandleSent(1)
			c.HandleData([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), loop.Stamps{User: 2})
			x.lastByte = 0
			for i, r := range row.reads {
				text := ""
				for range r.events {
					event := "data: " + chatChunk + "\n\n"
					text += fmt.Sprintf("%x\r\n%s\r\n", len(event), event)
				}
				if i == len(row.reads)-1 {
					text += "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"
				}
				c.HandleData([]byte(text), loop.Stamps{User: 1000 * r.user, Kernel: 1000 * r.kernel, After: 1000 * row.after})
			}
			o := x.Outcome
			if !over || strings.Contains(o.Error, "x") || o.Events() != 4 {
				t.Fatalf("over %v with %d events: %s", over, o.Events(), o.Error)
			}
			if lag := row.lag; o.Behind != row.behind || o.Bunched != row.bunched || o.LateFirst != 1000*row.first ||
				o.LateEnd != 1000*row.end || o.Within != 1000*row.within ||
				lag >= 0 && o.LagMax != 1000*lag || lag < 0 && o.LagMax >= 0 {
				t.Errorf("behind %d, bunched %d, within %d, first late by %d, end by %d, lag %d",
					o.Behind, o.Bunched, o.Within, o.LateFirst, o.LateEnd, o.LagMax)
			}
			if o.Kernel == (row.byReader || row.lag < 0) {
				t.Errorf("stamps of the kernel: %v", o.Kernel)
			}
		})
	}
}
