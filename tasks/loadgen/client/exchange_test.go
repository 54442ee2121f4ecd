package client

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/loadgen/loop"
	"bflow.dev/bflow/tasks/loadgen/record"
	"bflow.dev/bflow/tasks/loadgen/wire"
)

// rig is a line to a server and what was put on it.
type rig struct {
	*testing.T
	loop *loop.Loop
	api  API
	line Line
	over int // exchanges
}

// newRig makes a rig of what speaks to address; a Fallback where fall.
func newRig(t *testing.T, address string, plan runplan.API, fall bool) *rig {
	t.Helper()
	l, err := loop.New(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	plan.Type, plan.Path = runplan.APIChat, "/v1/chat/completions"
	server, err := wire.ParseServer(address, plan)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, loop: l}
	if r.api, err = NewAPI(plan, server, ""); err != nil {
		t.Fatal(err)
	}
	if fall {
		r.line = NewFallback(l, server, &r.api, eventually.Limit, nil)
	} else {
		r.line = NewPool(l, server, eventually.Limit)
	}
	t.Cleanup(func() { r.line.Close(); l.Close() })
	return r
}

// exchange makes a request with a body of n bytes.
func (r *rig) exchange(n int) *Exchange {
	x := &Exchange{
		API: &r.api, Outcome: new(record.Outcome), IDPrefix: "p", Budget: NewBudget(), Over: func() { r.over++ },
	}
	r.fill(x, n)
	return x
}

func (r *rig) fill(x *Exchange, n int) {
	x.Outcome.Reset()
	room := r.api.HeadRoom("p")
	buf := make([]byte, room+n)
	copy(buf[room:], strings.Repeat("x", n))
	x.Message, x.BodyFrom = r.api.Message(buf, room, "p", x.Outcome)
}

// until runs the loop until ok.
func (r *rig) until(ok func() bool) {
	r.Helper()
	for end := r.loop.Now() + int64(eventually.Limit); !ok(); {
		if r.loop.Now() > end {
			r.Fatalf("nothing happened for %s", eventually.Limit)
		}
		r.loop.Wait(r.loop.Now()+1e7, false)
	}
}

// put puts a request of n bytes and waits for its end.
func (r *rig) put(n int) *record.Outcome {
	r.Helper()
	x, was := r.exchange(n), r.over
	r.line.Put(x)
	r.until(func() bool { return r.over > was })
	if r.over != was+1 {
		r.Errorf("it was over %d times", r.over-was)
	}
	return x.Outcome
}

// serve answers every connection, the k-th with answers[min(k, last)], a function of the connection.
func serve(t *testing.T, answers ...func(net.Conn)) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for k := 0; ; k++ {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() { defer conn.Close(); answers[min(k, len(answers)-1)](conn) }()
		}
	}()
	return "http://" + ln.Addr().String()
}

// heard reads one request.
func heard(in *bufio.Reader) bool {
	req, err := http.ReadRequest(in)
	if err == nil {
		_, err = io.Copy(io.Discard, req.Body)
	}
	return err == nil
}

// say answers requests with texts, in turn, and then reads on until the client closes.
func say(texts ...string) func(net.Conn) {
	return func(conn net.Conn) {
		in := bufio.NewReader(conn)
		for _, text := range texts {
			if !heard(in) {
				return
			}
			io.WriteString(conn, text)
		}
		io.Copy(io.Discard, in)
	}
}

// answered is a whole answer with headers of its own and a body.
func answered(status int, headers, body string) string {
	return fmt.Sprintf("HTTP/1.1 %d x\r\n%sContent-Length: %d\r\n\r\n%s", status, headers, len(body), body)
}

const (
	good     = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n"
	chunked  = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	goodHead = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
)

// TestARedirectIsNotFollowedAndItsTargetIsNamed: its load would be put to another server, with the key.
func TestARedirectIsNotFollowedAndItsTargetIsNamed(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("it was followed")
	}))
	defer elsewhere.Close()
	for _, tt := range []struct {
		name, location string
		status         int
		text           string // in the error; HOST stands for the server itself
	}{
		{name: "to another server", location: elsewhere.URL + "/v1?key=s3cret", status: 307,
			text: `HTTP 307: it redirects to "` + elsewhere.URL + `/v1", and bflow follows no redirect`},
		{name: "to another path", location: "/other", status: 308, text: `HTTP 308: it redirects to "http://HOST/other"`},
		{name: "with the method changed", location: elsewhere.URL, status: 302,
			text: `it redirects to "` + elsewhere.URL + `"`},
		{name: "to nowhere", status: 300, text: "HTTP 300: choose"},
		{name: "an error that names an address leads nowhere", location: elsewhere.URL, status: 503,
			text: "HTTP 503: choose"},
	} {
		for kind, fall := range map[string]bool{"pool": false, "fallback": true} {
			t.Run(tt.name+", "+kind, func(t *testing.T) {
				headers := ""
				if tt.location != "" {
					headers = "Location: " + tt.location + "\r\n"
				}
				address := serve(t, say(answered(tt.status, headers, "choose")))
				o := newRig(t, address, runplan.API{Stream: true}, fall).put(10)
				want := strings.Replace(tt.text, "HOST", strings.TrimPrefix(address, "http://"), 1)
				if o.Status != report.StatusFailed || !strings.Contains(o.Error, want) || strings.Contains(o.Error, "s3cret") {
					t.Errorf("status %q, error %q, want %q", o.Status, o.Error, want)
				}
			})
		}
	}
}

func TestAnswersOfOddServers(t *testing.T) {
	hang := func(text string) func(net.Conn) { return say(text) }
	done := func(x *Exchange) bool { return x.answer.done }
	begun := func(x *Exchange) bool { return x.Outcome.First >= 0 }
	sent := func(x *Exchange) bool { return x.Outcome.Sent >= 0 }
	drop := func(text string) func(net.Conn) {
		return func(conn net.Conn) { heard(bufio.NewReader(conn)); io.WriteString(conn, text) }
	}
	for name, tt := range map[string]struct {
		server        func(net.Conn)
		give          func(*Exchange) bool // it is given up as stalled, 50 ms after the last byte
		status, class string
		text          string // in the error
	}{
		"an error page above the bound is still that error": {server: hang(
			answered(500, "", strings.Repeat("e", 1<<20))), status: report.StatusFailed, class: report.ErrHTTP5xx},
		"an error page that breaks off is still that error": {
			server: drop("HTTP/1.1 503 x\r\nContent-Length: 99\r\n\r\nbusy"), status: report.StatusFailed,
			class: report.ErrHTTP5xx, text: "busy"},
		"an answer without the end of its framing is whole": {server: drop(goodHead + good), status: report.StatusOK},
		"also where the server then says nothing": {server: hang(goodHead + good), give: done,
			status: report.StatusOK},
		"silence before the terminator is a stall": {server: hang(goodHead + good[:60]), give: begun,
			status: report.StatusTimeout, class: report.ErrStall, text: "no byte for 50ms"},
		"silence from the beginning is a stall": {server: hang(""), give: sent,
			status: report.StatusTimeout, class: report.ErrStall, text: "no byte for 50ms"},
		"interim answers are passed over": {server: hang(
			"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + answered(200, "", good)),
			status: report.StatusOK},
		"no HTTP at all": {server: hang("SSH-2.0-OpenSSH_9.6\r\n"),
			status: report.StatusFailed, class: report.ErrBadPayload},
		"a body that ends before its length": {server: drop(goodHead + good[:60]),
			status: report.StatusFailed, class: report.ErrTruncated},
		"chunks that are none": {server: hang(chunked + "zz\r\n"),
			status: report.StatusFailed, class: report.ErrBadPayload},
		"more bytes than the answer has": {
			server: hang(answered(200, "", good) + "HTTP/1.1 200 OK\r\n\r\n"), status: report.StatusOK},
		"an answer before the request was read, and a reset": {
			server: func(conn net.Conn) { io.WriteString(conn, answered(413, "", "too large")) },
			status: report.StatusFailed, class: report.ErrHTTP4xx, text: "too large"},
		"a reset without an answer": {server: func(conn net.Conn) {},
			status: report.StatusFailed, class: report.ErrReset},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, serve(t, tt.server), runplan.API{Stream: true}, false)
			x := r.exchange(8 << 20)
			if tt.give != nil {
				x = r.exchange(100)
			}
			r.line.Put(x)
			r.until(func() bool {
				if tt.give != nil && tt.give(x) {
					now := r.loop.Now()
					x.GiveUp(ErrStall, now-x.Silent(now)+50e6)
				}
				return r.over > 0
			})
			o := x.Outcome
			if o.Status != tt.status || o.Class != tt.class || !strings.Contains(o.Error, tt.text) || r.over != 1 {
				t.Errorf("status %q, class %q, error %q, over %d times", o.Status, o.Class, o.Error, r.over)
			}
			if o.Status == report.StatusOK &&
				(o.End < o.Last || o.Last < o.First || o.First < o.FirstByte || o.FirstByte < o.Send || o.Out != 1) {
				t.Errorf("stamps %+v", o)
			}
		})
	}
}

func TestAnAnswerHasNoHeaderOfTheOneBefore(t *testing.T) {
	r := newRig(t,
		serve(t, say(answered(502, "Content-Encoding: gzip\r\nX-Pod-Name: a\r\n", "?"), answered(200, "", good))),
		runplan.API{Stream: true}, false)
	if o := r.put(10); o.Class != report.ErrHTTP5xx || o.Pod != "a" {
		t.Fatalf("%+v", o)
	}
	if o := r.put(10); o.Status != report.StatusOK || o.Pod != "" || o.Reused != 1 {
		t.Errorf("%+v", o)
	}
}

func TestAKeptConnectionThatIsGoneIsReplacedWithTheWaitInDial(t *testing.T) {
	gone := make(chan struct{})
	once := func(conn net.Conn) {
		in := bufio.NewReader(conn)
		heard(in)
		io.WriteString(conn, answered(200, "", good))
		in.Peek(1)
		<-gone
	}
	r := newRig(t, serve(t, once), runplan.API{Stream: true}, false)
	r.put(10)
	before := r.loop.Now()
	x := r.exchange(10)
	r.line.Put(x)
	r.until(func() bool { return r.loop.Now() >= before+30e6 })
	close(gone)
	r.until(func() bool { return r.over == 2 })
	o := x.Outcome
	if o.Status != report.StatusOK || o.StaleRetries != 1 || o.Reused != 0 || o.Dial < 25e6 || o.Send-o.Dial < before {
		t.Errorf("started at %d: %+v", before, o)
	}
	if s := r.line.Stats(); s.Opened != 2 || s.Churn != 1 {
		t.Errorf("%+v", s)
	}
}

func TestRequestsAreGivenUpInEveryState(t *testing.T) {
	full, err := net.Listen("tcp", "127.0.0.1:0") // it never accepts, but the kernel does
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	sent := func(x *Exchange) bool { return x.Outcome.Sent >= 0 }
	for name, tt := range map[string]struct {
		address string
		size    int
		when    func(*Exchange) bool
	}{
		"while it connects": {address: serve(t, say("")), when: func(*Exchange) bool { return true }},
		"while it is sent": {address: "http://" + full.Addr().String(), size: 16 << 20,
			when: func(x *Exchange) bool { return x.Outcome.Send >= 0 }},
		"before the answer": {address: serve(t, say("")), when: sent},
		"in the head": {address: serve(t, say("HTTP/1.1 200 OK\r\nContent-")),
			when: func(x *Exchange) bool { return x.Outcome.FirstByte >= 0 }},
		"in the middle of body": {address: serve(t, say(goodHead+good[:60])),
			when: func(x *Exchange) bool { return x.Outcome.First >= 0 }},
	} {
		for kind, fall := range map[string]bool{"pool": false, "fallback": true} {
			t.Run(name+", "+kind, func(t *testing.T) {
				r := newRig(t, tt.address, runplan.API{Stream: true}, fall)
				x := r.exchange(tt.size)
				for range 20 { // the same object again and again, put from its own Over
					next := false
					r.line.Put(x)
					if fall && strings.Contains(name, "head") { // net/http shows a whole head only
						r.until(func() bool { return x.Outcome.Sent >= 0 })
					} else {
						r.until(func() bool { return tt.when(x) })
					}
					x.Over = func() { next = true; r.over++ }
					x.GiveUp(ErrCut, r.loop.Now())
					x.GiveUp(ErrCut, r.loop.Now())
					if !next || x.Outcome.Status != report.StatusCut || x.Running() {
						t.Fatalf("over %v, status %q", next, x.Outcome.Status)
					}
					r.fill(x, tt.size)
					x.Over = func() { r.over++ }
				}
				r.loop.Wait(r.loop.Now()+20e6, false)
				if r.over != 20 || x.Outcome.Status != "" || x.Outcome.Send >= 0 {
					t.Errorf("%d ends; what came late changed the next request: %+v", r.over, x.Outcome)
				}
				if s := r.line.Stats(); s.Churn > 0 {
					t.Errorf("%d connections count as lost by the server", s.Churn)
				}
			})
		}
	}
}

func TestHTTP2RequestsAreNotMixedUp(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > 1000 { // it answers before the request was read
			io.WriteString(w, good)
			return
		}
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, good)
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	r := newRig(t, srv.URL, runplan.API{Stream: true, HTTP2: true}, true)
	left, bad := 400, 0 // requests that were not put yet
	for i := range 8 {
		size := 100
		if i%2 == 0 {
			size = 100_000
		}
		x := r.exchange(size)
		x.Over = func() {
			if x.Outcome.Status != report.StatusOK || x.Outcome.Sent >= 0 && x.Outcome.Sent < x.Outcome.Send {
				bad++
			}
			r.over++
			if left--; left >= 0 {
				r.fill(x, size)
				r.line.Put(x)
			}
		}
		r.line.Put(x)
	}
	r.until(func() bool { return r.over == 408 })
	if bad > 0 {
		t.Errorf("%d requests have stamps or answers of others", bad)
	}
}

func TestDialsThatEndBehindTheLoopLeaveNoConnection(t *testing.T) {
	var open atomic.Int64
	address := serve(t, func(conn net.Conn) {
		open.Add(1)
		defer open.Add(-1)
		io.Copy(io.Discard, conn)
	})
	before := runtime.NumGoroutine()
	for range 20 {
		l, err := loop.New(time.Now())
		if err != nil {
			t.Fatal(err)
		}
		server, _ := wire.ParseServer(address, runplan.API{})
		p := NewPool(l, server, eventually.Limit)
		p.Warm(3, func(error) {})
		p.Close()
		l.Close()
	}
	// Each dial has a goroutine until it has ended, each connection one of the server until it is closed.
	eventually.Nil(t, "the end of all dials and connections", func() error {
		if now := runtime.NumGoroutine(); now > before || open.Load() > 0 {
			return fmt.Errorf("%d connections are open, %d goroutines run, there were %d", open.Load(), now, before)
		}
		return nil
	})
}

func TestDescriptorsAreLeftToFiles(t *testing.T) {
	l, err := loop.New(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := NewPool(l, wire.Server{Network: "tcp", Address: "127.0.0.1:1"}, eventually.Limit)
	defer p.Close()
	p.most = 2
	p.stats.Open = 2
	var got error
	p.Warm(3, func(err error) { got = err })
	for end := l.Now() + int64(eventually.Limit); got == nil && l.Now() < end; {
		l.Wait(l.Now()+1e8, false)
	}
	if !errors.Is(got, errFull) {
		t.Errorf("error %v, want that no descriptor is left", got)
	}
}
