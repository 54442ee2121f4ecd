package wire

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// maxDepth bounds the nesting of a JSON body.
const maxDepth = 200

// scanner reads one JSON value in a single pass. A prompt can be 200 kB long, and encoding/json takes milliseconds
// for it, which would be lateness of the engine. After the first error every method does nothing.
type scanner struct {
	data  []byte
	at    int
	depth int
	err   error
}

func (s *scanner) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("offset %d: %w", s.at, fmt.Errorf(format, args...))
	}
	s.at = len(s.data)
}

// peek skips white space and returns the next byte, or 0 at the end.
func (s *scanner) peek() byte {
	for ; s.at < len(s.data); s.at++ {
		switch c := s.data[s.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

func (s *scanner) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.at++
	return true
}

func (s *scanner) expect(c byte) {
	if !s.take(c) {
		s.fail("want %q", c)
	}
}

// end fails where anything but white space is left.
func (s *scanner) end() {
	if s.peek(); s.at < len(s.data) {
		s.fail("data after the JSON value")
	}
}

// object calls member for each key, which has to read the value.
func (s *scanner) object(member func(key string)) {
	for more := s.enter('{', '}'); more; more = s.more('}') {
		if key, ok := s.key(); ok {
			member(key)
		}
	}
}

// key reads the name of a member.
func (s *scanner) key() (string, bool) {
	key := s.text()
	s.expect(':')
	return known(key), s.err == nil
}

// array calls element for each element, which has to read it.
func (s *scanner) array(element func()) {
	for more := s.enter('[', ']'); more; more = s.more(']') {
		element()
	}
}

// enter begins an object or a list and returns whether something is in it.
func (s *scanner) enter(begin, end byte) bool {
	s.expect(begin)
	if s.depth++; s.depth > maxDepth {
		s.fail("nested deeper than %d", maxDepth)
	}
	return s.err == nil && !s.left(end)
}

// more returns whether there is another element.
func (s *scanner) more(end byte) bool {
	if s.err != nil || s.left(end) {
		return false
	}
	s.expect(',')
	return s.err == nil
}

func (s *scanner) left(end byte) bool {
	if !s.take(end) {
		return false
	}
	s.depth--
	return true
}

// text reads a string. The result lies in the input where it has no escapes.
func (s *scanner) text() []byte {
	s.expect('"')
	start := s.at
	for s.at += plainPrefix(s.data[s.at:]); s.at < len(s.data); s.at++ {
		switch c := s.data[s.at]; {
		case c == '"':
			s.at++
			return s.data[start : s.at-1]
		case c == '\\':
			return s.finishEscaped(start)
		case c < ' ':
			s.fail("control character in a string")
			return nil
		}
	}
	s.fail("string without an end")
	return nil
}

// finishEscaped goes on with a string at its first backslash.
func (s *scanner) finishEscaped(start int) []byte {
	out := append(make([]byte, 0, 2*(s.at-start)+64), s.data[start:s.at]...)
	for s.at < len(s.data) {
		c := s.data[s.at]
		s.at++
		switch {
		case c == '"':
			return out
		case c == '\\':
			out = s.appendEscape(out)
		case c < ' ':
			s.fail("control character in a string")
		default:
			out = append(out, c)
		}
	}
	s.fail("string without an end")
	return nil
}

func (s *scanner) appendEscape(out []byte) []byte {
	if s.at >= len(s.data) {
		s.fail("string without an end")
		return out
	}
	c := s.data[s.at]
	s.at++
	switch c {
	case '"', '\\', '/':
		return append(out, c)
	case 'b':
		return append(out, '\b')
	case 'f':
		return append(out, '\f')
	case 'n':
		return append(out, '\n')
	case 'r':
		return append(out, '\r')
	case 't':
		return append(out, '\t')
	case 'u':
		return utf8.AppendRune(out, s.codePoint())
	}
	s.fail("unknown escape")
	return out
}

// codePoint reads the digits of a \u escape, and the second half of a surrogate pair.
func (s *scanner) codePoint() rune {
	r := s.hex4()
	if r < 0xd800 || r > 0xdfff {
		return r
	}
	if r < 0xdc00 && s.at+1 < len(s.data) && s.data[s.at] == '\\' && s.data[s.at+1] == 'u' {
		before := s.at
		s.at += 2
		if low := s.hex4(); low >= 0xdc00 && low <= 0xdfff {
			return (r-0xd800)<<10 + (low - 0xdc00) + 0x10000
		}
		if s.err == nil {
			s.at = before
		}
	}
	return utf8.RuneError
}

func (s *scanner) hex4() rune {
	if s.at+4 > len(s.data) {
		s.fail("short escape")
		return utf8.RuneError
	}
	n, err := strconv.ParseUint(string(s.data[s.at:s.at+4]), 16, 16)
	if err != nil {
		s.fail("bad escape")
		return utf8.RuneError
	}
	s.at += 4
	return rune(n)
}

// literal reads word, such as true.
func (s *scanner) literal(word string) bool {
	s.peek()
	if s.at+len(word) > len(s.data) || string(s.data[s.at:s.at+len(word)]) != word {
		return false
	}
	s.at += len(word)
	return true
}

// number reads a number in its JSON spelling.
func (s *scanner) number() string {
	s.peek()
	start := s.at
	s.skipByte('-')
	if !s.skipByte('0') && s.digits() == 0 {
		s.fail("want a value")
		return ""
	}
	if s.skipByte('.') && s.digits() == 0 {
		s.fail("want digits")
		return ""
	}
	if s.skipByte('e') || s.skipByte('E') {
		if !s.skipByte('-') {
			s.skipByte('+')
		}
		if s.digits() == 0 {
			s.fail("want digits")
			return ""
		}
	}
	return string(s.data[start:s.at])
}

func (s *scanner) skipByte(c byte) bool {
	if s.at < len(s.data) && s.data[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *scanner) digits() (n int) {
	for s.at < len(s.data) && s.data[s.at] >= '0' && s.data[s.at] <= '9' {
		s.at++
		n++
	}
	return n
}

// skip reads any value.
func (s *scanner) skip() {
	switch c := s.peek(); {
	case c == '{':
		s.object(func(string) { s.skip() })
	case c == '[':
		s.array(s.skip)
	case c == '"':
		s.text()
	case s.literal("true"), s.literal("false"), s.literal("null"):
	default:
		s.number()
	}
}
