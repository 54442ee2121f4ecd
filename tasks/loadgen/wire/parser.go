package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// ErrBadAnswer says that the server did not speak HTTP/1.1.
var ErrBadAnswer = errors.New("malformed HTTP answer")

// ErrTruncated says that the body ended before its length or its last chunk.
var ErrTruncated = errors.New("the answer ended in the middle")

// MaxHead bounds the head of an answer and each line of its framing.
const MaxHead = 256 << 10

// spareLine is the largest buffer of a line that is kept for the next.
const spareLine = 4 << 10

// maxName bounds the values of headers that are kept: names of pods and encodings are shorter.
const maxName = 253

// maxLocation bounds the address that a redirect names: what is longer is not kept.
const maxLocation = 8 << 10

// Head is what a client needs of the head of an answer.
type Head struct {
	Status     int
	RetryAfter string
	Pod        string // that answered, where a header names it
	Encoding   string // Content-Encoding
	Location   string // of a redirect: where it leads
}

// Sink takes what a Parser finds.
type Sink interface {
	// Head is called once, before any piece of the body.
	Head(h *Head) error
	// Body is called with pieces of the body, which lie in what was fed.
	Body(piece []byte) error
}

// place is where in an answer a parser stands.
type place uint8

const (
	inStatus place = iota
	inHeaders
	inBody     // of known length
	inStream   // until the connection closes
	inSize     // of a chunk
	inChunk    // data of a chunk
	afterChunk // the line end behind the data
	inTrailer
	atEnd
)

// Parser reads one answer after the other from a connection. The zero value waits for the first.
type Parser struct {
	head  Head
	last  Head // of the answer before, whose texts are kept where they come again
	at    place
	left  int64  // bytes left of body or chunk
	line  []byte // a line that the reads so far did not end
	size  int    // of the head so far
	keep  bool   // the server keeps the connection
	close bool   // a body without length is ended by the connection
	chunk bool
	Bytes int64 // fed of this answer
}

// Next makes p wait for the next answer on the same connection.
func (p *Parser) Next() {
	p.at, p.left = inStatus, 0
	p.size, p.Bytes = 0, 0
	p.line = p.line[:0]
}

// Held returns how many bytes of memory a line takes that the reads so far did not end.
func (p *Parser) Held() int { return cap(p.line) }

// Done says whether the answer is whole.
func (p *Parser) Done() bool { return p.at == atEnd }

// Keep says whether the connection can carry another request once the answer is whole.
func (p *Parser) Keep() bool { return p.at == atEnd && p.keep }

// Feed reads b and tells to what it finds. It stops at the end of the answer and returns how much of b it took. An
// error of to ends it and is returned.
func (p *Parser) Feed(b []byte, to Sink) (int, error) {
	fed := 0
	for fed < len(b) && p.at != atEnd {
		n, err := p.step(b[fed:], to)
		fed += n
		p.Bytes += int64(n)
		if err != nil {
			return fed, err
		}
	}
	return fed, nil
}

// End says what the end of the connection means: nil where it ends the answer, io.EOF before the first byte.
func (p *Parser) End() error {
	switch {
	case p.at == inStream:
		p.at, p.keep = atEnd, false
		return nil
	case p.at == atEnd:
		return nil
	case p.at == inStatus && p.Bytes == 0:
		return io.EOF
	}
	return ErrTruncated
}

func (p *Parser) step(b []byte, to Sink) (int, error) {
	switch p.at {
	case inBody, inChunk:
		return p.data(b, to)
	case inStream:
		return len(b), to.Body(b)
	}
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		if p.line = append(p.line, b...); len(p.line) > MaxHead {
			return len(b), fmt.Errorf("%w: line above %d bytes", ErrBadAnswer, MaxHead)
		}
		return len(b), nil
	}
	line := b[:i]
	if len(p.line) > 0 {
		p.line = append(p.line, line...)
		line = p.line
	}
	err := p.takeLine(bytes.TrimSuffix(line, []byte("\r")), to)
	if p.line = p.line[:0]; cap(p.line) > spareLine {
		p.line = nil
	}
	return i + 1, err
}

// data passes on what is left of a body or chunk.
func (p *Parser) data(b []byte, to Sink) (int, error) {
	n := int(min(int64(len(b)), p.left))
	p.left -= int64(n)
	if p.left == 0 {
		if p.at == inBody {
			p.at = atEnd
		} else {
			p.at = afterChunk
		}
	}
	return n, to.Body(b[:n])
}

// takeLine takes in a whole line.
func (p *Parser) takeLine(line []byte, to Sink) error {
	switch p.at {
	case inStatus:
		return p.takeStatus(line)
	case inHeaders:
		if len(line) > 0 {
			return p.takeHeader(line)
		}
		return p.begin(to)
	case inSize:
		return p.chunkSize(line)
	case afterChunk:
		if len(line) > 0 {
			return fmt.Errorf("%w: chunk is followed by %.60q", ErrBadAnswer, line)
		}
		p.at = inSize
	case inTrailer:
		if len(line) == 0 {
			p.at = atEnd
		}
	}
	return nil
}

func (p *Parser) takeStatus(line []byte) error {
	p.chunk, p.left, p.close = false, 0, true
	version, rest, _ := bytes.Cut(line, []byte(" "))
	code, _, _ := bytes.Cut(rest, []byte(" "))
	n, ok := number(code)
	if !ok || !bytes.HasPrefix(version, []byte("HTTP/1.")) {
		return fmt.Errorf("%w: status line %.60q", ErrBadAnswer, line)
	}
	p.last, p.head = p.head, Head{Status: int(n)}
	p.keep, p.at = string(version) != "HTTP/1.0", inHeaders
	return nil
}

// begin ends the head.
func (p *Parser) begin(to Sink) error {
	status := p.head.Status
	if status < 200 {
		p.at = inStatus // an interim answer: the real one follows
		return nil
	}
	switch {
	case status == 204 || status == 304:
		p.at = atEnd
	case p.chunk:
		p.at = inSize
	case p.close:
		p.at, p.keep = inStream, false
	case p.left == 0:
		p.at = atEnd
	default:
		p.at = inBody
	}
	return to.Head(&p.head)
}

func (p *Parser) chunkSize(line []byte) error {
	size, _, _ := bytes.Cut(line, []byte(";"))
	n, ok := hex(bytes.TrimSpace(size))
	if !ok {
		return fmt.Errorf("%w: chunk %.60q", ErrBadAnswer, line)
	}
	p.left, p.at = n, inChunk
	if n == 0 {
		p.at = inTrailer
	}
	return nil
}

// number and hex read what strconv would, without making a string of it.
func number(b []byte) (int64, bool) {
	n := int64(0)
	for _, c := range b {
		if c < '0' || c > '9' || n > 1<<50 {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	return n, len(b) > 0
}

func hex(b []byte) (int64, bool) {
	n := int64(0)
	for _, c := range b {
		var v byte
		switch {
		case c >= '0' && c <= '9':
			v = c - '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			v = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		if n > 1<<50 {
			return 0, false
		}
		n = 16*n + int64(v)
	}
	return n, len(b) > 0
}

// AppendLength appends the header that ends a request's head.
func AppendLength(b []byte, n int) []byte {
	b = append(b, "\r\nContent-Length: "...)
	return append(strconv.AppendInt(b, int64(n), 10), "\r\n\r\n"...)
}
