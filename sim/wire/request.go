package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Limits of a request.
const (
	MaxHead = 16 << 10 // request line and header fields, bytes; every connection has a buffer of it
	MaxBody = 64 << 20
)

// Request is one HTTP/1.x request. Only the header fields that the engine reads are kept.
type Request struct {
	Method, Path  string // Path without the query
	Minor         int    // of HTTP/1.x
	ID            string // x-request-id
	Authorization string
	Close         bool // the client wants the connection closed after the answer
	Continue      bool // the client waits for 100 Continue before it sends the body
	Body          []byte

	length  int64
	chunked bool
	line    []byte // the request line that Method, Path and Minor are of
	asked   bool   // HTTP/1.0 or "Connection: close" of that line
}

// StatusError is a request that gets an HTTP error status. The connection is not usable after it.
type StatusError struct {
	Status  int
	Message string
}

func (e *StatusError) Error() string { return e.Message }

func refuse(status int, format string, args ...any) error {
	return &StatusError{Status: status, Message: fmt.Sprintf(format, args...)}
}

// ReadHead reads the request line and the header. r needs a buffer of at least MaxHead bytes. An error is io.EOF
// before the first byte, another read error, or a *StatusError.
func ReadHead(r *bufio.Reader) (*Request, error) {
	req := &Request{}
	if err := req.ReadHead(r); err != nil {
		return nil, err
	}
	return req, nil
}

// ReadHead is the function of the same name, into a request that is over.
func (req *Request) ReadHead(r *bufio.Reader) error {
	line, err := readLine(r)
	for err == nil && len(line) == 0 { // empty lines before a request are allowed
		line, err = readLine(r)
	}
	if err != nil {
		return err
	}
	if err := req.begin(line); err != nil {
		return err
	}
	for left := MaxHead - len(line); ; {
		line, err := readLine(r)
		switch {
		case errors.Is(err, io.EOF):
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		case len(line) == 0:
			return req.checkFraming()
		}
		if left -= len(line); left < 0 {
			return refuse(431, "header is longer than %d bytes", MaxHead)
		}
		if err := req.parseField(line); err != nil {
			return err
		}
	}
}

// readLine returns the next line without its end; the slice is valid until the next read.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, refuse(431, "header line is longer than %d bytes", r.Size())
	case errors.Is(err, io.EOF) && len(line) > 0:
		return nil, io.ErrUnexpectedEOF
	case err != nil:
		return nil, err
	}
	line = line[:len(line)-1]
	return bytes.TrimSuffix(line, []byte{'\r'}), nil
}

// begin takes in a request line. The requests of a connection mostly have the same.
func (req *Request) begin(line []byte) error {
	if len(req.line) == 0 || !bytes.Equal(line, req.line) {
		*req = Request{line: append(req.line[:0], line...), length: -1}
		if err := req.parseLine(line); err != nil {
			req.line = nil
			return err
		}
		req.asked = req.Close
		return nil
	}
	*req = Request{
		Method: req.Method, Path: req.Path, Minor: req.Minor, Close: req.asked, line: req.line,
		asked: req.asked, length: -1,
	}
	return nil
}

func (req *Request) parseLine(line []byte) error {
	method, rest, ok1 := strings.Cut(string(line), " ")
	target, proto, ok2 := strings.Cut(rest, " ")
	if !ok1 || !ok2 || !isToken(method) || target == "" || strings.ContainsAny(target, " \t") {
		return refuse(400, "malformed request line")
	}
	switch proto {
	case "HTTP/1.1":
		req.Minor = 1
	case "HTTP/1.0":
		req.Close = true
	default:
		if strings.HasPrefix(proto, "HTTP/") {
			return refuse(505, "protocol %q is not supported, use HTTP/1.1", proto)
		}
		return refuse(400, "malformed request line")
	}
	if strings.HasPrefix(target, "http://") { // absolute form, as through a proxy
		_, path, _ := strings.Cut(strings.TrimPrefix(target, "http://"), "/")
		target = "/" + path
	}
	if target[0] != '/' {
		return refuse(400, "request target %q is no path", target)
	}
	req.Method = method
	req.Path, _, _ = strings.Cut(target, "?")
	return nil
}

func (req *Request) parseField(line []byte) error {
	name, value, ok := bytes.Cut(line, []byte{':'})
	if !ok || !isTokenBytes(name) {
		return refuse(400, "malformed header field")
	}
	value = bytes.Trim(value, " \t")
	switch len(name) { // the length sorts out nearly all fields without a comparison
	case len("Connection"), len("Content-Length"), len("Transfer-Encoding"), len("Expect"), len("X-Request-Id"),
		len("Authorization"):
		return req.setField(name, value)
	}
	return nil
}

func (req *Request) setField(name, value []byte) error {
	switch {
	case equalFold(name, "content-length"):
		n, err := strconv.ParseUint(string(value), 10, 62)
		if err != nil || (req.length >= 0 && req.length != int64(n)) {
			return refuse(400, "bad Content-Length")
		}
		req.length = int64(n)
	case equalFold(name, "transfer-encoding"):
		if !equalFold(value, "chunked") || req.chunked {
			return refuse(501, "only the transfer encoding \"chunked\" is supported")
		}
		req.chunked = true
	case equalFold(name, "connection"):
		req.setConnection(string(value))
	case equalFold(name, "expect"):
		if !equalFold(value, "100-continue") {
			return refuse(417, "unknown expectation %q", value)
		}
		req.Continue = req.Minor == 1
	case equalFold(name, "x-request-id"):
		req.ID = cleanID(string(value))
	case equalFold(name, "authorization"):
		req.Authorization = string(value)
	}
	return nil
}

// equalFold compares name with an ASCII text in lower case.
func equalFold(name []byte, lower string) bool {
	if len(name) != len(lower) {
		return false
	}
	for i, c := range name {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

func (req *Request) setConnection(value string) {
	for option := range strings.SplitSeq(value, ",") {
		switch strings.ToLower(strings.TrimSpace(option)) {
		case "close":
			req.Close = true
		case "keep-alive":
			req.Close = false
		}
	}
}

func (req *Request) checkFraming() error {
	switch {
	case req.chunked && req.length >= 0:
		return refuse(400, "both Content-Length and Transfer-Encoding")
	case req.chunked && req.Minor == 0:
		return refuse(400, "Transfer-Encoding needs HTTP/1.1")
	case req.length > MaxBody:
		return refuse(413, "body of %d bytes is over the limit of %d", req.length, MaxBody)
	}
	req.Continue = req.Continue && (req.chunked || req.length > 0)
	return nil
}

// cleanID keeps an id that can be sent back in a header and in JSON as it is, and drops any other.
func cleanID(id string) string {
	for i := range len(id) {
		if c := id[i]; c <= ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return ""
		}
	}
	if len(id) > 256 {
		return ""
	}
	return id
}

func isToken(s string) bool { return isTokenBytes([]byte(s)) }

func isTokenBytes(s []byte) bool {
	for _, c := range s {
		letter := c|0x20-'a' < 26 || c-'0' < 10
		if !letter && c != '-' && strings.IndexByte("!#$%&'*+.^_`|~", c) < 0 {
			return false
		}
	}
	return len(s) > 0
}
