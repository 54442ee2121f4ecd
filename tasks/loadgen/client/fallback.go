package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"bflow.dev/bflow/tasks/loadgen/loop"
	"bflow.dev/bflow/tasks/loadgen/record"
	"bflow.dev/bflow/tasks/loadgen/stamp"
	"bflow.dev/bflow/tasks/loadgen/wire"
	"bflow.dev/bflow/tasks/outbound"
)

// Fallback is the Line of what Pool does not speak: HTTP/2 and proxies, by net/http. Every stamp is one of the reader:
// of answers that share a connection nobody can say whose bytes the kernel stamped. What it received last still says
// how late they were read.
type Fallback struct {
	loop    *loop.Loop
	server  wire.Server
	url     string // without the path of the API
	http    *http.Client
	headers map[string]string
	stats   Stats
	stop    context.CancelFunc
	ctx     context.Context
	trips   sync.WaitGroup
	opened  openConns
}

// maxUnread bounds what a connection of HTTP/2 holds that nobody has read yet, of all its answers: the largest number
// that net/http takes. It would hold 4 MiB of each.
const maxUnread = 4<<20 - 1

var _ Line = (*Fallback)(nil)

// NewFallback returns the line to server; proxy may be nil.
func NewFallback(l *loop.Loop, server wire.Server, api *API, timeout time.Duration, proxy *url.URL) *Fallback {
	f := &Fallback{loop: l, server: server, headers: api.Headers(), opened: openConns{conns: map[*trackedConn]struct{}{}}}
	dialer := &net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second}
	transport := &http.Transport{
		TLSClientConfig: server.TLS, ForceAttemptHTTP2: true, DisableCompression: true,
		MaxIdleConnsPerHost: 1 << 16, TLSHandshakeTimeout: timeout, MaxResponseHeaderBytes: wire.MaxHead,
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerConnection: maxUnread, MaxReceiveBufferPerStream: maxUnread / 4},
		Proxy: func(*http.Request) (*url.URL, error) { return proxy, nil },
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return f.opened.dial(ctx, dialer, network, address)
		},
	}
	scheme := "http://"
	if server.TLS != nil {
		scheme = "https://"
	}
	f.url = scheme + server.Host
	f.http = &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	f.ctx, f.stop = context.WithCancel(context.Background())
	return f
}

// Stats implements Line.
func (f *Fallback) Stats() Stats { return f.stats }

// Close implements Line.
func (f *Fallback) Close() {
	f.stop()
	f.trips.Wait()
	f.http.CloseIdleConnections()
	f.opened.close()
}

// Warm implements Line: connections are opened by the first requests.
func (f *Fallback) Warm(_ int, done func(error)) { done(nil) }

// Put implements Line.
func (f *Fallback) Put(x *Exchange) {
	t := &trip{fallback: f, x: x}
	ctx, cancel := context.WithCancel(f.ctx)
	t.cancel = cancel
	x.start(t)
	x.ByReader = true // it is always put by a Fallback
	body := bytes.Clone(x.Message[x.BodyFrom:])
	id := string(x.Outcome.AppendID(nil, x.IDPrefix))
	start := f.loop.Now()
	f.trips.Go(func() { t.roundTrip(ctx, start, id, body) })
}

// trip is one request of a Fallback. Its fields are the loop's but for what run is given.
type trip struct {
	fallback *Fallback
	x        *Exchange
	cancel   context.CancelFunc
	stamps   *stamp.Conn // of its connection
}

// drop implements carrier.
func (t *trip) drop() { t.cancel() }

// tell runs f on the loop and waits for it, unless the exchange is over, because another request may be in its place by
// then, or the line is closed: it is false then, and nobody wants to hear more.
func (t *trip) tell(f func()) (told bool) {
	done := make(chan struct{})
	var taken atomic.Bool
	posted := t.fallback.loop.Post(func() {
		defer close(done)
		if taken.CompareAndSwap(false, true) && t.x.line == carrier(t) {
			f()
			told = true
		}
	})
	if !posted {
		return false
	}
	select {
	case <-done:
	case <-t.fallback.ctx.Done():
		if taken.CompareAndSwap(false, true) {
			return false
		}
		<-done
	}
	return told
}

func (t *trip) roundTrip(ctx context.Context, start int64, id string, body []byte) {
	defer t.cancel()
	l, x := t.fallback.loop, t.x
	trace := &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			now := l.Now()
			t.stamps = stamp.Below(info.Conn)
			t.tell(func() { t.stampSend(info.Reused, start, now) })
		},
		WroteRequest: func(httptrace.WroteRequestInfo) {
			now := l.Now()
			t.tell(func() { x.Outcome.Sent = now })
		},
		GotFirstResponseByte: func() {
			now, came := t.now()
			t.tell(func() { x.stampArrival(loop.Stamps{User: now, Kernel: came}) })
		},
	}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), http.MethodPost,
		t.fallback.url+x.API.Path(), bytes.NewReader(body))
	if err != nil {
		t.tell(func() { x.end(err, l.Now()) })
		return
	}
	outbound.SetHeaders(req, t.fallback.headers)
	req.Header.Set("X-Request-Id", id)
	resp, err := t.fallback.http.Do(req)
	if err != nil {
		t.tell(func() { x.end(t.explain(err), l.Now()) })
		return
	}
	defer resp.Body.Close()
	t.answer(resp)
}

// now returns this moment, and when the kernel received what its connection brought last.
func (t *trip) now() (now, came int64) {
	l := t.fallback.loop
	if now = l.Now(); t.stamps != nil {
		came = t.stamps.Came(l.Anchor())
	}
	return now, came
}

// stampSend stamps the send: the request goes out as soon as there is a connection.
func (t *trip) stampSend(reused bool, start, now int64) {
	o := t.x.Outcome
	if o.Send >= 0 { // net/http puts it again: the server had given up the kept connection
		o.StaleRetries++
		o.Sent, o.Dial = record.Absent, now-start // the wait for another one, be it a kept one too
	}
	o.Reused = 1
	if !reused {
		o.Reused, o.Dial = 0, now-start
		t.fallback.stats.Opened++
	}
	t.x.stampSend(now)
}

func (t *trip) explain(err error) error {
	if t.x.Outcome.Send != record.Absent {
		return err
	}
	if why := t.fallback.server.Explain(err); why != nil {
		return &wire.DialError{TLS: true, Err: why}
	}
	return &wire.DialError{Err: errors.Unwrap(err)}
}

// answer hands head and body to the loop, piece by piece.
func (t *trip) answer(resp *http.Response) {
	l, x := t.fallback.loop, t.x
	head := wire.Head{
		Status: resp.StatusCode, RetryAfter: resp.Header.Get("Retry-After"),
		Encoding: resp.Header.Get("Content-Encoding"),
	}
	if resp.StatusCode/100 == 3 {
		head.Location = resp.Header.Get("Location")
	}
	var stop error
	if !t.tell(func() { stop = x.takeHead(&head) }) {
		return
	}
	buf := make([]byte, 64<<10)
	for stop == nil {
		n, err := resp.Body.Read(buf)
		at, came := t.now()
		told := t.tell(func() {
			x.stampArrival(loop.Stamps{User: at, Kernel: came})
			if n > 0 {
				x.Outcome.BytesIn += int64(n)
				stop = errors.Join(x.takePiece(buf[:n]), x.hold(0))
			}
			if stop == nil && errors.Is(err, io.EOF) {
				x.end(x.finishBody(), at)
				stop = io.EOF
				return
			}
			if stop == nil {
				stop = err
			}
		})
		if !told { // it was given up: its body gives the same error for ever
			return
		}
	}
	if !errors.Is(stop, io.EOF) {
		t.tell(func() { x.end(stop, l.Now()) })
	}
}
