package wire

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"bflow.dev/bflow/runplan"
)

// heard is a sink that keeps what it is told.
type heard struct {
	status   int
	location string
	body     []byte
}

func (h *heard) Head(head *Head) error { h.status, h.location = head.Status, head.Location; return nil }
func (h *heard) Body(p []byte) error   { h.body = append(h.body, p...); return nil }

// parse feeds an answer in pieces of n bytes, then the end of the connection where the answer is not whole by then.
func parse(p *Parser, n int, answer string) (h heard, rest string, err error) {
	p.Next()
	for len(answer) > 0 && !p.Done() {
		piece := answer[:min(n, len(answer))]
		took, err := p.Feed([]byte(piece), &h)
		answer = answer[took:]
		if err != nil {
			return h, answer, err
		}
	}
	if !p.Done() {
		err = p.End()
	}
	return h, answer, err
}

func TestAnswers(t *testing.T) {
	tests := []struct {
		name   string
		answer string
		status int
		body   string
		keep   bool
		err    error
	}{
		{name: "a body of known length", answer: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", status: 200,
			body: "hello", keep: true},
		{name: "an empty body", answer: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", status: 200, keep: true},
		{name: "chunks",
			answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=1\r\n world\r\n0\r\n\r\n",
			status: 200, body: "hello world", keep: true},
		{name: "chunks with a trailer",
			answer: "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\nA\r\n0123456789\r\n0\r\nX: y\r\n\r\n",
			status: 200, body: "0123456789", keep: true},
		{name: "a body until the connection closes", answer: "HTTP/1.1 200 OK\r\n\r\nhello", status: 200, body: "hello"},
		{name: "a server that closes after the answer",
			answer: "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi", status: 200, body: "hi"},
		{name: "HTTP/1.0 closes by itself", answer: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi",
			status: 200, body: "hi"},
		{name: "an interim answer is skipped",
			answer: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Slow down\r\nContent-Length: 2\r\n\r\nno", status: 429,
			body: "no", keep: true},
		{name: "no content", answer: "HTTP/1.1 204 No Content\r\n\r\n", status: 204, keep: true},
		{name: "a body shorter than its length", answer: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
			status: 200, body: "hello", err: ErrTruncated},
		{name: "chunks without the last one",
			answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", status: 200,
			body: "hello", err: ErrTruncated},
		{name: "a chunk that is cut", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhello",
			status: 200, body: "hello", err: ErrTruncated},
		{name: "a chunk length that is no number",
			answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", status: 200, err: ErrBadAnswer},
		{name: "another protocol", answer: "SSH-2.0-OpenSSH\r\n\r\n", err: ErrBadAnswer},
		{name: "a negative length", answer: "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", err: ErrBadAnswer},
		{name: "nothing at all", answer: "", err: io.EOF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, n := range []int{1, 3, 1000} {
				var p Parser
				h, _, err := parse(&p, n, tt.answer)
				if !errors.Is(err, tt.err) || tt.err == nil && (h.status != tt.status || p.Keep() != tt.keep) ||
					string(h.body) != tt.body {
					t.Errorf("pieces of %d: %d %q keep %v error %v, want %d %q %v %v",
						n, h.status, h.body, p.Keep(), err, tt.status, tt.body, tt.keep, tt.err)
				}
			}
		})
	}
}

func TestWhereARedirectLeadsIsKept(t *testing.T) {
	for _, tt := range []struct{ name, answer, want string }{
		{"a redirect", "HTTP/1.1 307 x\r\nlocation:  https://h.example/v1 \r\nContent-Length: 0\r\n\r\n",
			"https://h.example/v1"},
		{"another answer", "HTTP/1.1 201 x\r\nLocation: https://h.example/v1\r\nContent-Length: 0\r\n\r\n", ""},
		{"one that is too long",
			"HTTP/1.1 307 x\r\nLocation: /" + strings.Repeat("x", maxLocation) + "\r\nContent-Length: 0\r\n\r\n", ""},
		{"one that leads nowhere", "HTTP/1.1 307 x\r\nContent-Length: 0\r\n\r\n", ""},
	} {
		var p Parser
		if h, _, err := parse(&p, 7, tt.answer); err != nil || h.location != tt.want {
			t.Errorf("%s: %.60q, %v, want %q", tt.name, h.location, err, tt.want)
		}
	}
}

func TestAnswersFollowEachOther(t *testing.T) {
	ok := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
	var p Parser
	h, rest, err := parse(&p, 1000, ok+ok)
	if err != nil || rest != ok || string(h.body) != "hi" || !p.Keep() || p.Bytes != int64(len(ok)) {
		t.Errorf("%q, rest %q, %d bytes, %v", h.body, rest, p.Bytes, err)
	}
	if h, rest, err = parse(&p, 1, rest); err != nil || rest != "" || string(h.body) != "hi" {
		t.Errorf("the second: %q, rest %q, %v", h.body, rest, err)
	}
}

func TestAnswersAreReadWithoutAllocating(t *testing.T) {
	answer := []byte("HTTP/1.1 200 OK\r\nX-Inference-Pod: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n")
	var (
		p Parser
		h heard
	)
	allocs := testing.AllocsPerRun(100, func() {
		p.Next()
		h.body = h.body[:0]
		if _, err := p.Feed(answer, &h); err != nil || !p.Done() {
			t.Fatal("the answer is not whole")
		}
	})
	if allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func FuzzParser(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\n\r\nrest"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		var whole, cut Parser
		a, restA, errA := parse(&whole, 1<<20, string(answer))
		b, restB, errB := parse(&cut, 1, string(answer))
		if (errA == nil) != (errB == nil) || a.status != b.status || string(a.body) != string(b.body) || restA != restB {
			t.Errorf("whole: %d %q %q %v; byte by byte: %d %q %q %v",
				a.status, a.body, restA, errA, b.status, b.body, restB, errB)
		}
	})
}

func TestServers(t *testing.T) {
	tests := []struct {
		name string
		base string
		want string // address, path, TLS
		err  string
	}{
		{name: "a port", base: "http://h:8000", want: "h:8000 '' false"},
		{name: "the default port of http", base: "http://h", want: "h:80 '' false"},
		{name: "the default port of https, and a path", base: "https://h/a/b/", want: "h:443 '/a/b' true"},
		{name: "an IPv6 address", base: "http://[::1]:80", want: "[::1]:80 '' false"},
		{name: "a Unix socket", base: "unix:///run/a.sock", want: "/run/a.sock '' false"},
		{name: "a Unix socket without a path", base: "unix://", err: "want unix:///path"},
		{name: "no scheme", base: "h:8000", err: "want http://"},
		{name: "no host", base: "http://:8000", err: "the host is missing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := ParseServer(tt.base, runplan.API{VerifyTLS: true})
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want %q", err, tt.err)
				}
				return
			}
			if got := fmt.Sprintf("%s '%s' %v", s.Address, s.Path, s.TLS != nil); err != nil || got != tt.want {
				t.Errorf("got %q (%v), want %q", got, err, tt.want)
			}
		})
	}
}
