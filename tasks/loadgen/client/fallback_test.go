package client

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/loadgen/record"
)

// TestNobodyReadsAStreamThatWasGivenUp: who did would find the same error again and again, for as long as the load goes
// on.
func TestNobodyReadsAStreamThatWasGivenUp(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, good[:60])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	for name, cause := range map[string]error{"went silent": ErrStall, "took too long": ErrDeadline,
		"was cancelled": ErrCanceled, "was cut": ErrCut} {
		t.Run("one that "+name, func(t *testing.T) {
			r := newRig(t, srv.URL, runplan.API{Stream: true, HTTP2: true}, true)
			x := r.exchange(100)
			r.line.Put(x)
			r.until(func() bool { return x.Outcome.First >= 0 })
			x.GiveUp(cause, r.loop.Now())
			var left atomic.Bool
			go func() { r.line.(*Fallback).trips.Wait(); left.Store(true) }()
			r.until(left.Load)
		})
	}
}

func TestARequestThatIsPutAgainHasTheWaitInDial(t *testing.T) {
	for name, kept := range map[string]bool{"on a kept connection": true, "on a new one": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "http://127.0.0.1:1", runplan.API{Stream: true}, true)
			x := r.exchange(10)
			again := &trip{fallback: r.line.(*Fallback), x: x}
			const start, first, second = 100, 200, 5000
			again.stampSend(true, start, first)
			if o := x.Outcome; o.Send != first || o.Dial != 0 || o.Reused != 1 || o.StaleRetries != 0 {
				t.Fatalf("at first: %+v", o)
			}
			x.Outcome.Sent = first + 10
			again.stampSend(kept, start, second)
			if o := x.Outcome; o.Send != second || o.Sent != record.Absent || o.Dial != second-start ||
				(o.Reused == 1) != kept || o.StaleRetries != 1 {
				t.Errorf("then: %+v", o)
			}
		})
	}
}
