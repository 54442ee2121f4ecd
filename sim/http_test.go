package sim

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"bflow.dev/bflow/internal/eventually"
)

func TestHTTPOnTheWire(t *testing.T) {
	body := `{"prompt":"a b","max_tokens":2}`
	for _, row := range []struct {
		name, send string
		status     []int // of the responses, in order
		open       bool  // the connection stays open
	}{
		{"garbage", "\x16\x03\x01\x00\r\n\r\n", []int{400}, false},
		{"no version", "GET /health\r\n\r\n", []int{400}, false},
		{"HTTP/2 without negotiation", "PRI * HTTP/2.0\r\n\r\n", []int{505}, false},
		{"a field without a colon", "GET /health HTTP/1.1\r\nHost\r\n\r\n", []int{400}, false},
		{"a folded field", "GET /health HTTP/1.1\r\nA: b\r\n c\r\n\r\n", []int{400}, false},
		{"two lengths",
			"POST /v1/completions HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", []int{400}, false},
		{"a negative length", "POST /v1/completions HTTP/1.1\r\nContent-Length: -1\r\n\r\n", []int{400}, false},
		{"length and chunks", "POST /v1/completions HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: " +
			"chunked\r\n\r\n0\r\n\r\n", []int{400}, false},
		{"another encoding", "POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", []int{501}, false},
		{"a bad chunk size", "POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", []int{400}, false},
		{"a body over the limit", "POST /v1/completions HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", []int{413}, false},
		{"a header over the limit",
			"GET /health HTTP/1.1\r\nA: " + strings.Repeat("x", 70_000) + "\r\n\r\n", []int{431}, false},
		{"an unknown expectation",
			"POST /tokenize HTTP/1.1\r\nExpect: tea\r\nContent-Length: 2\r\n\r\n{}", []int{417}, false},
		{"100-continue", "POST /tokenize HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 14\r\n\r\n" +
			`{"prompt":"a"}`, []int{100, 200}, true},
		{"a chunked body", "POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n" + body[:5] +
			"\r\n1a;x=y\r\n" + body[5:] + "\r\n0\r\nT: x\r\n\r\n", []int{200}, true},
		{"lines that end with LF alone", "GET /health HTTP/1.1\nHost: x\n\n", []int{200}, true},
		{"the absolute form", "GET http://other/health HTTP/1.1\r\n\r\n", []int{200}, true},
		{"two requests in one segment", post("/v1/completions", body) + post("/v1/completions", body), []int{200, 200}, true},
		{"close is obeyed", "GET /health HTTP/1.1\r\nConnection: close\r\n\r\n", []int{200}, false},
		{"HTTP/1.0 closes", "GET /health HTTP/1.0\r\n\r\n", []int{200}, false},
		{"HTTP/1.0 with keep-alive", "GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", []int{200}, true},
		{"nothing", "", nil, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := listen(t, Config{})
			c := dial(t, s)
			send(t, c, row.send)
			r := bufio.NewReader(c)
			eventually.Bound(c)
			for _, status := range row.status {
				resp, err := http.ReadResponse(r, nil)
				if err != nil {
					t.Fatal(err)
				}
				want(t, "status", resp.StatusCode, status)
				_, _ = io.Copy(io.Discard, resp.Body)
			}
			if row.open { // it takes another request, and nothing comes before its answer
				send(t, c, "GET /version HTTP/1.1\r\nHost: x\r\n\r\n")
				resp, err := http.ReadResponse(r, nil)
				if err != nil || resp.StatusCode != 200 {
					t.Fatalf("it is not open any more: %v, %v", resp, err)
				}
				return
			}
			_, err := r.ReadByte()
			want(t, "closed", errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET), true)
		})
	}
}

func TestAStreamToAClientWithoutChunksEndsWithTheConnection(t *testing.T) {
	s := listen(t, Config{})
	c := dial(t, s)
	body := `{"prompt":"a","max_tokens":3,"stream":true}`
	send(t, c, strings.Replace(post("/v1/completions", body), "HTTP/1.1", "HTTP/1.0", 1))
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(resp.Body)
	want(t, "error", err, nil)
	r := parseStream(t, string(data))
	want(t, "tokens", len(r.tokens), 3)
	want(t, "done", r.done, true)
}

func TestAConnectionServesManyStreams(t *testing.T) {
	s := listen(t, Config{Models: []string{"m"}})
	c := dial(t, s) // not by net/http, which keeps no connection whose writer is 50 ms late to say that it is done
	eventually.Bound(c)
	in := bufio.NewReader(c)
	for range 20 {
		send(t, c, post("/v1/chat/completions", chatBody(250, "")))
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		want(t, "error", err, nil)
		want(t, "tokens", len(parseStream(t, string(body)).tokens), 250)
	}
	for i, r := range ended(t, s, 20) {
		want(t, "connection", r.Conn, 0)
		want(t, "reused", r.ConnReused, i > 0)
	}
}
