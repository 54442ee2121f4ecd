package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

func FuzzReadHead(f *testing.F) {
	for _, seed := range []string{
		"GET /health HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST /v1/completions HTTP/1.1\r\nContent-Length: 3\r\nConnection: close\r\nX-Request-Id: a\"b\r\n\r\nabc",
		"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		"POST / HTTP/1.0\nContent-Length: 0\n\n", "\r\n\r\nGET http://h/p?q HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.1\r\nExpect: 100-continue\r\n\r\n", "GET / HTTP/3.0\r\n\r\n", " / HTTP/1.1\r\n\r\n",
		"GET", "0 ? HTTP/1.0\n\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bufio.NewReaderSize(bytes.NewReader(data), MaxHead)
		req, err := ReadHead(r)
		if err == nil {
			err = req.ReadBody(r, nil)
		}
		var status *StatusError
		switch {
		case err == nil:
			checkAccepted(t, req, data)
		case errors.As(err, &status):
			if status.Status < 400 || status.Status > 599 || status.Message == "" {
				t.Errorf("refused with %d %q", status.Status, status.Message)
			}
		case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
			t.Errorf("error %v is neither a status nor the end", err)
		}
	})
}

// checkAccepted compares with net/http: whatever both accept has to have the same method and body.
func checkAccepted(t *testing.T, req *Request, data []byte) {
	if req.Method == "" || req.Path == "" || len(req.ID) > 256 {
		t.Errorf("accepted %+v", req)
	}
	other, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(bytes.TrimLeft(data, "\r\n"))))
	if err != nil {
		return
	}
	body, err := io.ReadAll(other.Body)
	if err == nil && (other.Method != req.Method || !bytes.Equal(body, req.Body)) {
		t.Errorf("read %q %q, net/http reads %q %q", req.Method, req.Body, other.Method, body)
	}
}

func FuzzParseParams(f *testing.F) {
	for _, seed := range []string{
		`{"model":"m","prompt":"one two","max_tokens":5,"stream":true,"stream_options":{"include_usage":true}}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"\u00e9\ud83d\ude00\n"}]}],"n":1}`,
		`{"prompt":[1,2,3],"min_tokens":2,"ignore_eos":true,"stop":null}`, `{"prompt":[[1],["a"]]}`, `[]`, `{`,
		`{"a":1e5,"b":-0.1E+2}`,
		`{"input":[{"role":"user","content":"a"}],"instructions":"b","max_output_tokens":3}`,
		`{"system":[{"type":"text","text":"x"}],"messages":[{"role":"user","content":"a"}],"max_tokens":3}`,
		`{"text_input":"a","return_num_output_tokens":true,"parameters":{"max_tokens":3}}`,
		`{"inputs":"a","parameters":{"max_new_tokens":3,"details":true}}`,
		`{"prompt":"\ud800x","max_tokens":00}`, "{\"prompt\":\"a\x01\"}", `{"prompt":"a",}`,
	} {
		for api := range byte(TGI + 1) {
			f.Add([]byte(seed), api)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, api byte) {
		p, err := ParseParams(body, API(api)%(TGI+1))
		s := scanner{data: body}
		s.skip()
		s.end()
		if valid := s.err == nil; valid != json.Valid(body) && !deep(s.err) {
			t.Fatalf("%q: valid %v (%v), encoding/json says %v", body, valid, s.err, json.Valid(body))
		}
		if err != nil {
			var invalid *InvalidError
			if !errors.As(err, &invalid) || invalid.Message == "" {
				t.Fatalf("%q: error %v", body, err)
			}
			return
		}
		if n, ids := p.CountTokens(), p.Tokens(); n != len(ids) || n < 1 {
			t.Fatalf("%q: %d tokens counted, %d made", body, n, len(ids))
		}
		if p.N != 1 || p.MaxTokens == 0 || p.MinTokens < 0 {
			t.Fatalf("%q: accepted %+v", body, p)
		}
	})
}

// deep tells that a value was refused for its nesting, which encoding/json allows more of.
func deep(err error) bool {
	return err != nil && strings.Contains(err.Error(), "nested deeper")
}
