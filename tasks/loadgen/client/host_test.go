package client

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/loadgen/wire"
)

// TestEveryLineSendsTheHostThatThePlanGives: a gateway finds the model server by it. A server of Go refuses two of
// them.
func TestEveryLineSendsTheHostThatThePlanGives(t *testing.T) {
	var heard atomic.Value
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heard.Store(r.Host)
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, good)
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	for _, row := range []struct {
		name    string
		headers map[string]string
		fall    bool
		want    string
	}{
		{name: "HTTP/1.1", want: srv.Listener.Addr().String()},
		{name: "HTTP/1.1, one of the plan", headers: map[string]string{"host": "llm.example"}, want: "llm.example"},
		{name: "HTTP/2", fall: true, want: srv.Listener.Addr().String()},
		{name: "HTTP/2, one of the plan", headers: map[string]string{"Host": "llm.example"}, fall: true, want: "llm.example"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := newRig(t, srv.URL, runplan.API{Stream: true, HTTP2: row.fall, Headers: row.headers}, row.fall)
			o := r.put(10)
			if host := heard.Load(); o.Status != report.StatusOK || host != row.want {
				t.Errorf("host %q, want %q; %s %s", host, row.want, o.Status, o.Error)
			}
		})
	}
}

func TestAHeaderThatIsGivenTwiceIsRefused(t *testing.T) {
	plan := runplan.API{Type: runplan.APIChat, Headers: map[string]string{"Host": "a", "host": "b"}}
	if _, err := NewAPI(plan, wire.Server{Host: "h"}, ""); err == nil ||
		!strings.Contains(err.Error(), `header "host" is given twice`) {
		t.Errorf("got %v", err)
	}
}
