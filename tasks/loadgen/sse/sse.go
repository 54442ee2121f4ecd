// Package sse cuts the body of a text/event-stream answer into events, whatever the borders of its reads.
// It must not know what an event means.
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

// Feed scans p and calls emit with the data of every event that ends in it. The data is valid during the call only.
// An error of emit ends the scan and is returned.
func (s *Scanner) Feed(p []byte, emit func(data []byte) error) error {
	for len(p) > 0 {
		if s.skipLF {
			s.skipLF = false
			if p[0] == '\n' {
				p = p[1:]
				continue
			}
		}
		end := lineEnd(p)
		if end < 0 {
			s.line = append(s.line, p...)
			return s.bound()
		}
		line := p[:end]
		if len(s.line) > 0 {
			s.line = append(s.line, line...)
			line = s.line
		}
		s.skipLF = p[end] == '\r'
		p = p[end+1:]
		err := s.endLine(line, emit)
		s.line = s.line[:0]
		if err != nil {
			return err
		}
	}
	return nil
}

// Close ends the body: an event that lacks its blank line is emitted too.
func (s *Scanner) Close(emit func(data []byte) error) error {
	if len(s.line) > 0 {
		err := s.endLine(s.line, emit)
		s.line = s.line[:0]
		if err != nil {
			return err
		}
	}
	return s.dispatch(emit)
}

func lineEnd(p []byte) int {
	lf := bytes.IndexByte(p, '\n')
	if lf < 0 {
		return bytes.IndexByte(p, '\r')
	}
	if cr := bytes.IndexByte(p[:lf], '\r'); cr >= 0 {
		return cr
	}
	return lf
}

func (s *Scanner) bound() error {
	if len(s.line) > MaxEvent || len(s.data) > MaxEvent {
		return ErrTooLong
	}
	return nil
}

func (s *Scanner) endLine(line []byte, emit func(data []byte) error) error {
	if !s.begun {
		s.begun = true
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	if len(line) == 0 {
		return s.dispatch(emit)
	}
	value, ok := bytes.CutPrefix(line, []byte("data"))
	if !ok || len(value) > 0 && value[0] != ':' {
		return nil
	}
	if len(value) > 0 {
		value = value[1:]
	}
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	if s.hasData {
		s.data = append(s.data, '\n')
	}
	s.data, s.hasData = append(s.data, value...), true
	return s.bound()
}

func (s *Scanner) dispatch(emit func(data []byte) error) error {
	if !s.hasData {
		return nil
	}
	err := emit(s.data)
	s.data, s.hasData = s.data[:0], false
	return err
}
