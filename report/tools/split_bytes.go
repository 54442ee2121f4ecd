package tools

import (
	"bufio"
	"errors"
	"io"
)

// window returns what is read already, at least a byte.
func (s *splitter) window() ([]byte, error) {
	if _, err := s.in.Peek(1); err != nil {
		return nil, err
	}
	return s.in.Peek(s.in.Buffered())
}

// take copies part, which a window begins with.
func (s *splitter) take(to *[]byte, part []byte) {
	*to = append(*to, part...)
	s.at += int64(len(part))
	_, _ = s.in.Discard(len(part)) // it was there
}

// scalar copies a text, a number or a word. What Python writes and JSON does not know, NaN and the infinities, becomes
// null.
func (s *splitter) scalar(to *[]byte) error {
	begin := len(*to)
	for {
		window, err := s.window()
		if errors.Is(err, io.EOF) && len(*to) > begin {
			break
		}
		if err != nil {
			return err
		}
		if window[0] == '"' && len(*to) == begin {
			return s.text(to)
		}
		n := 0
		for n < len(window) && !endsScalar(window[n]) {
			n++
		}
		if s.take(to, window[:n]); n < len(window) {
			break
		}
	}
	word := (*to)[begin:]
	if len(word) == 0 {
		return errShape
	}
	if notANumber(word) == len(word) {
		*to = append((*to)[:begin], "null"...)
	}
	return nil
}

func endsScalar(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', ',', ':', ']', '}', '[', '{', '"':
		return true
	}
	return false
}

func (s *splitter) text(to *[]byte) error {
	c, err := s.byte()
	if err == nil && c != '"' {
		return errShape
	}
	for *to = append(*to, '"'); err == nil; {
		var part []byte
		part, err = s.in.ReadSlice('"')
		s.at += int64(len(part))
		*to = append(*to, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			err = nil
			continue
		}
		if err == nil && !escaped(*to) {
			return nil
		}
	}
	return err
}

// escaped says whether the quote at the end of a text is one of the text.
func escaped(text []byte) bool {
	n := 0
	for i := len(text) - 2; i > 0 && text[i] == '\\'; i-- {
		n++
	}
	return n%2 == 1
}
