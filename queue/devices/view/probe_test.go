package view

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

func TestReach(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/prefix/readyz":
			w.WriteHeader(status)
		case "/prefix/version":
			io.WriteString(w, `{"gitVersion":"v1.34.4"}`)
		default:
			t.Errorf("asked for %s", r.URL.Path)
		}
	}))
	now, told := time.Unix(1000, 0), 0
	p, err := newProbe(&rest.Config{Host: server.URL + "/prefix"}, func() time.Time { return now }, func() { told++ })
	if err != nil {
		t.Fatal(err)
	}
	if !p.now().Since.IsZero() {
		t.Error("before it was asked nothing is known")
	}
	step := func(want Reach, times int) {
		t.Helper()
		now = now.Add(time.Minute)
		p.ask(t.Context())
		got := p.now()
		if got.Up != want.Up || !got.Since.Equal(want.Since) || !strings.Contains(got.Why, want.Why) ||
			(got.Why == "") != got.Up || told != times {
			t.Errorf("got %+v after %d changes, want %+v after %d", got, told, want, times)
		}
	}
	step(Reach{Up: true, Since: time.Unix(1060, 0)}, 1)
	step(Reach{Up: true, Since: time.Unix(1060, 0)}, 1)
	status = http.StatusInternalServerError
	if p.serverVersion() != "v1.34.4" {
		t.Errorf("its version is %q", p.serverVersion())
	}
	step(Reach{Since: time.Unix(1180, 0), Why: "500"}, 2)
	back := p.returned()
	status = http.StatusOK
	step(Reach{Up: true, Since: time.Unix(1240, 0)}, 3)
	<-back
	if p.lastOutage() != time.Minute {
		t.Errorf("it was away for %s", p.lastOutage())
	}
	status = http.StatusUnauthorized
	step(Reach{Since: time.Unix(1300, 0), Why: "bflow target add"}, 4)
	server.Close()
	step(Reach{Since: time.Unix(1300, 0), Why: "refused"}, 4)
}
