package client

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"bflow.dev/bflow/tasks/runplan"
)

// TestNobodyReadsAStreamThatWasGivenUp: who did would find the same error again and again, for as long as the load goes on.
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
	for name, cause := range map[string]error{"went silent": ErrStall, "took too long": ErrDeadline, "was cancelled": ErrCanceled, "was cut": ErrCut} {
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
