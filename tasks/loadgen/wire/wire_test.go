package wire

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// serve answers each connection with answers in turn, one per request head, writing pieces of n bytes; then it closes.
func serve(t *testing.T, n int, answers ...string) *Pool {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				in := bufio.NewReader(conn)
				for _, answer := range answers {
					if !skipHead(in) {
						return
					}
					for rest := answer; rest != ""; {
						piece := rest[:min(n, len(rest))]
						rest = rest[len(piece):]
						if _, err := io.WriteString(conn, piece); err != nil {
							return
						}
					}
				}
			}()
		}
	}()
	server, err := ParseServer("http://"+ln.Addr().String(), true)
	if err != nil {
		t.Fatal(err)
	}
	return NewPool(server, time.Second)
}

func skipHead(in *bufio.Reader) bool {
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return false
		}
		if line == "\r\n" {
			return true
		}
	}
}

// exchange puts one request on c and returns status, body and whether the connection can be kept.
func exchange(c *Conn) (status int, body string, keep bool, err error) {
	c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.WriteString(c, "POST / HTTP/1.1\r\n\r\n"); err != nil {
		return 0, "", false, err
	}
	r, err := c.ReadHead(func() {})
	if err != nil {
		return 0, "", false, err
	}
	for {
		piece, err := r.Next()
		if errors.Is(err, io.EOF) {
			return r.Status, body, r.Reusable(), nil
		}
		if err != nil {
			return r.Status, body, false, err
		}
		body += string(piece)
	}
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
		{name: "a body of known length", answer: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", status: 200, body: "hello", keep: true},
		{name: "an empty body", answer: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", status: 200, keep: true},
		{name: "chunks", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=1\r\n world\r\n0\r\n\r\n", status: 200, body: "hello world", keep: true},
		{name: "chunks with a trailer", answer: "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\nA\r\n0123456789\r\n0\r\nX: y\r\n\r\n", status: 200, body: "0123456789", keep: true},
		{name: "a body until the connection closes", answer: "HTTP/1.1 200 OK\r\n\r\nhello", status: 200, body: "hello"},
		{name: "a server that closes after the answer", answer: "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi", status: 200, body: "hi"},
		{name: "HTTP/1.0 closes by itself", answer: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", status: 200, body: "hi"},
		{name: "an interim answer is skipped", answer: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Slow down\r\nContent-Length: 2\r\n\r\nno", status: 429, body: "no", keep: true},
		{name: "no content", answer: "HTTP/1.1 204 No Content\r\n\r\n", status: 204, keep: true},
		{name: "a body shorter than its length", answer: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", status: 200, body: "hello", err: ErrTruncated},
		{name: "chunks without the last one", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", status: 200, body: "hello", err: ErrTruncated},
		{name: "a chunk that is cut", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhello", status: 200, body: "hello", err: ErrTruncated},
		{name: "a chunk length that is no number", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", status: 200, err: ErrBadAnswer},
		{name: "another protocol", answer: "SSH-2.0-OpenSSH\r\n\r\n", err: ErrBadAnswer},
		{name: "a negative length", answer: "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", err: ErrBadAnswer},
		{name: "nothing at all", answer: "", err: io.EOF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, n := range []int{1, 3, 1000} {
				c, _, err := serve(t, n, tt.answer).Take(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				status, body, keep, err := exchange(c)
				c.Close()
				if !errors.Is(err, tt.err) || tt.err == nil && (status != tt.status || keep != tt.keep) || body != tt.body {
					t.Errorf("pieces of %d: %d %q keep %v error %v, want %d %q %v %v", n, status, body, keep, err, tt.status, tt.body, tt.keep, tt.err)
				}
			}
		})
	}
}

func TestAConnectionIsKept(t *testing.T) {
	ok := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
	p := serve(t, 1000, ok, ok, ok)
	for i := range 3 {
		c, reused, err := p.Take(context.Background())
		if err != nil || reused != (i > 0) {
			t.Fatalf("request %d: reused %v, error %v", i, reused, err)
		}
		if _, body, keep, err := exchange(c); err != nil || body != "hi" || !keep {
			t.Fatalf("request %d: %q keep %v error %v", i, body, keep, err)
		}
		p.Put(c)
	}
	if s := p.Stats(); s.Opened != 1 || s.Churn != 0 {
		t.Errorf("connections %+v", s)
	}
}

func TestAConnectionThatTheServerClosedIsSeen(t *testing.T) {
	p := serve(t, 1000, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
	c, _, err := p.Take(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, keep, err := exchange(c); err != nil || !keep {
		t.Fatalf("keep %v, error %v", keep, err)
	}
	p.Put(c)
	c.idleSince = c.idleSince.Add(-time.Minute)
	deadline := time.Now().Add(5 * time.Second)
	for !c.closedByPeer() && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	fresh, reused, err := p.Take(context.Background())
	if err != nil || reused || fresh.ID == c.ID {
		t.Errorf("reused %v, error %v", reused, err)
	}
	if s := p.Stats(); s.Opened != 2 || s.Churn != 1 || s.Open != 1 {
		t.Errorf("connections %+v", s)
	}
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
		{name: "no scheme", base: "h:8000", err: "want http://"},
		{name: "no host", base: "http://:8000", err: "the host is missing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := ParseServer(tt.base, true)
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
