package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// Conn is one connection. It carries one request at a time.
type Conn struct {
	net.Conn
	ID        int
	raw       net.Conn // the TCP connection below TLS
	idleSince time.Time

	buf  []byte // read and not yet consumed: buf[pos:]
	pos  int
	resp Response
}

// ErrBadAnswer says that the server did not speak HTTP/1.1.
var ErrBadAnswer = errors.New("malformed HTTP answer")

// ErrTruncated says that the body ended before its length or its last chunk.
var ErrTruncated = errors.New("the answer ended in the middle")

// maxHead bounds the head of an answer.
const maxHead = 256 << 10

// Response is an answer whose body is read by Next.
type Response struct {
	Status    int
	Retry     string // header Retry-After
	Pod       string // header that names the pod which answered
	BytesRead int64  // of head and body, framing included

	conn      *Conn
	keepAlive bool
	chunked   bool
	left      int64 // bytes left of the body, or of the chunk; -1 = until the connection closes
	begun     bool  // a chunk was read: a line end follows it
	done      bool
}

// ReadHead waits for the answer to a request that was written. onByte is called once, when its first byte is there.
func (c *Conn) ReadHead(onByte func()) (*Response, error) {
	c.resp = Response{conn: c}
	r := &c.resp
	if c.pos == len(c.buf) {
		if err := c.fill(); err != nil {
			return r, err
		}
	}
	onByte()
	for {
		if err := r.head(); err != nil {
			return r, err
		}
		if r.Status >= 200 {
			return r, nil
		}
	}
}

func (r *Response) head() error {
	line, err := r.line()
	if err != nil {
		return err
	}
	version, rest, _ := strings.Cut(line, " ")
	code, _, _ := strings.Cut(rest, " ")
	if r.Status, err = strconv.Atoi(code); err != nil || !strings.HasPrefix(version, "HTTP/1.") {
		return fmt.Errorf("%w: status line %.60q", ErrBadAnswer, line)
	}
	r.keepAlive, r.left, r.chunked = version != "HTTP/1.0", -1, false
	for total := 0; ; {
		line, err := r.line()
		if err != nil {
			return err
		}
		if total += len(line); total > maxHead {
			return fmt.Errorf("%w: head above %d bytes", ErrBadAnswer, maxHead)
		}
		if line == "" {
			break
		}
		if err := r.header(line); err != nil {
			return err
		}
	}
	if r.Status < 200 || r.Status == 204 || r.Status == 304 {
		r.left, r.chunked = 0, false
	}
	r.done = r.left == 0 && !r.chunked
	return nil
}

func (r *Response) header(line string) error {
	name, value, ok := strings.Cut(line, ":")
	if !ok {
		return fmt.Errorf("%w: header %.60q", ErrBadAnswer, line)
	}
	value = strings.TrimSpace(value)
	switch strings.ToLower(name) {
	case "content-length":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("%w: content-length %.60q", ErrBadAnswer, value)
		}
		if !r.chunked {
			r.left = n
		}
	case "transfer-encoding":
		if r.chunked = strings.EqualFold(value, "chunked"); r.chunked {
			r.left = 0
		}
	case "connection":
		r.keepAlive = !strings.EqualFold(value, "close") && (r.keepAlive || strings.EqualFold(value, "keep-alive"))
	case "retry-after":
		r.Retry = value
	case "x-inference-pod", "x-served-by-pod", "x-pod-name":
		r.Pod = value
	}
	return nil
}

// Next returns the next piece of the body as it lies in the buffer, valid until the next call; io.EOF after the last.
func (r *Response) Next() ([]byte, error) {
	if r.done {
		return nil, io.EOF
	}
	if r.chunked && r.left == 0 {
		if err := r.nextChunk(); err != nil {
			return nil, err
		}
		if r.done {
			return nil, io.EOF
		}
	}
	c := r.conn
	if c.pos == len(c.buf) {
		if err := c.fill(); err != nil {
			return nil, r.closed(err)
		}
	}
	piece := c.buf[c.pos:]
	if r.left >= 0 && int64(len(piece)) > r.left {
		piece = piece[:r.left]
	}
	c.pos += len(piece)
	r.BytesRead += int64(len(piece))
	if r.left > 0 {
		r.left -= int64(len(piece))
		r.done = r.left == 0 && !r.chunked
	}
	return piece, nil
}

// closed turns the end of the connection into what it means here.
func (r *Response) closed(err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	if r.left < 0 {
		r.done, r.keepAlive = true, false
		return io.EOF
	}
	return ErrTruncated
}

func (r *Response) nextChunk() error {
	if r.begun {
		if line, err := r.line(); err != nil || line != "" {
			return chunkError(err, line)
		}
	}
	line, err := r.line()
	if err != nil {
		return chunkError(err, line)
	}
	size, _, _ := strings.Cut(line, ";")
	n, err := strconv.ParseUint(strings.TrimSpace(size), 16, 62)
	if err != nil {
		return chunkError(nil, line)
	}
	r.begun, r.left = true, int64(n)
	if n > 0 {
		return nil
	}
	for { // trailers
		line, err := r.line()
		if err != nil {
			return chunkError(err, line)
		}
		if line == "" {
			r.done = true
			return nil
		}
	}
}

func chunkError(err error, line string) error {
	switch {
	case errors.Is(err, io.EOF):
		return ErrTruncated
	case err != nil:
		return err
	}
	return fmt.Errorf("%w: chunk %.60q", ErrBadAnswer, line)
}

// Reusable says whether the connection can carry another request: the body was read to its end and the server keeps
// the connection.
func (r *Response) Reusable() bool { return r.done && r.keepAlive && r.conn.pos == len(r.conn.buf) }

// line returns the next line of head or framing, without its end.
func (r *Response) line() (string, error) {
	c := r.conn
	for from := c.pos; ; {
		if i := bytes.IndexByte(c.buf[from:], '\n'); i >= 0 {
			line := c.buf[c.pos : from+i]
			r.BytesRead += int64(len(line)) + 1
			c.pos = from + i + 1
			return string(bytes.TrimSuffix(line, []byte("\r"))), nil
		}
		held := len(c.buf) - c.pos
		if held > maxHead {
			return "", fmt.Errorf("%w: line above %d bytes", ErrBadAnswer, maxHead)
		}
		if err := c.fill(); err != nil {
			return "", err
		}
		from = c.pos + held
	}
}

// fill reads more behind what is not yet consumed.
func (c *Conn) fill() error {
	if c.pos == len(c.buf) {
		c.buf, c.pos = c.buf[:0], 0
	} else if c.pos > 0 && len(c.buf) == cap(c.buf) {
		c.buf, c.pos = c.buf[:copy(c.buf, c.buf[c.pos:])], 0
	}
	if len(c.buf) == cap(c.buf) {
		c.buf = append(make([]byte, 0, 2*cap(c.buf)), c.buf...)
	}
	n, err := c.Read(c.buf[len(c.buf):cap(c.buf)])
	c.buf = c.buf[:len(c.buf)+n]
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}
