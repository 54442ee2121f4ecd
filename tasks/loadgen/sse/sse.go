// Package sse splits the body of a text/event-stream response into events, wherever the reads split it. It must not
// know what an event means.
package sse

import (
	"bytes"
	"errors"
)

// MaxEvent is the length in bytes above which an event is refused, so that a server that never ends a line cannot
// take all memory.
const MaxEvent = 16 << 20

// ErrTooLong says that a line or an event is longer than MaxEvent.
var ErrTooLong = errors.New("event is longer than 16 MiB")

// Scanner collects the data of events. Lines end with LF, CRLF or CR; data lines of one event are joined with LF;
// comments and the fields event, id and retry carry no data. The zero value is ready; Reset makes it so again.
//
// An event of one data line that lies whole in one read, which is nearly every event, is handed on where it lies.
type Scanner struct {
	line    []byte // a line that the reads so far did not end
	data    []byte // data of the event so far
	hasData bool
	begun   bool // the first line was seen: no byte order mark after it
	skipLF  bool // the last read ended with CR
}

// Reset forgets everything but the buffers.
func (s *Scanner) Reset() {
	*s = Scanner{line: s.line[:0], data: s.data[:0]}
}

// Held returns how many bytes of memory the buffers take.
func (s *Scanner) Held() int { return cap(s.line) + cap(s.data) }

// spareBuffer is the largest buffer that Trim keeps: events that come in two reads are seldom larger.
const spareBuffer = 8 << 10

// Trim drops buffers that grew for an event larger than most, and forgets what is in them.
func (s *Scanner) Trim() {
	s.line, s.data = trimmed(s.line), trimmed(s.data)
}

func trimmed(b []byte) []byte {
	if cap(b) > spareBuffer {
		return nil
	}
	return b[:0]
}

// Feed scans p and calls emit with the data of every event that ends in it. The data is valid during the call only.
// An error of emit ends the scan and is returned.
func (s *Scanner) Feed(p []byte, emit func(data []byte) error) error {
	if s.skipLF && len(p) > 0 {
		s.skipLF = false
		if p[0] == '\n' {
			p = p[1:]
		}
	}
	if len(p) == 0 {
		return nil
	}
	r := reading{Scanner: s, p: p, cr: bytes.IndexByte(p, '\r'), emit: emit}
	err := r.run()
	r.keep()
	if err == nil && (len(s.line) > MaxEvent || len(s.data) > MaxEvent) {
		err = ErrTooLong
	}
	return err
}

// Close ends the body: an event that lacks its blank line is emitted too.
func (s *Scanner) Close(emit func(data []byte) error) error {
	r := reading{Scanner: s, cr: -1, emit: emit}
	if len(s.line) > 0 {
		r.endLine(nil)
	}
	return r.dispatch()
}
