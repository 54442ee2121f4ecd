package tools

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// cursor walks over a text of JSON, which may be wrong or end early: a step that is not there is false, and the cursor
// stays somewhere in the text.
type cursor struct {
	in []byte
	at int
}

// deepestNesting is how deep objects and lists may lie in each other, as for encoding/json.
const deepestNesting = 10_000

func (c *cursor) space() {
	if c.at < len(c.in) && c.in[c.at] <= ' ' {
		c.blanks()
	}
}

// blanks passes over white space, the beginning of an indented line at once.
func (c *cursor) blanks() {
	const eight = 0x2020202020202020
	for c.at < len(c.in) {
		if len(c.in)-c.at >= 8 && binary.LittleEndian.Uint64(c.in[c.at:]) == eight {
			c.at += 8
			continue
		}
		switch c.in[c.at] {
		case ' ', '\n', '\t', '\r':
			c.at++
		default:
			return
		}
	}
}

// peek returns the byte that is next after white space, 0 at the end.
func (c *cursor) peek() byte {
	if c.space(); c.at < len(c.in) {
		return c.in[c.at]
	}
	return 0
}

// isAtEnd says whether nothing but white space follows.
func (c *cursor) isAtEnd() bool {
	c.space()
	return c.at == len(c.in)
}

// take passes over a byte, and white space before it.
func (c *cursor) take(b byte) bool {
	if c.space(); c.at < len(c.in) && c.in[c.at] == b {
		c.at++
		return true
	}
	return false
}

// each passes over an object or a list, which comes next, and calls item at the beginning of each member or element.
// level is how many others it lies in.
func (c *cursor) each(brackets string, level int, item func() bool) bool {
	open, closing := brackets[0], brackets[1]
	if level >= deepestNesting || !c.take(open) {
		return false
	}
	if c.take(closing) {
		return true
	}
	for item() {
		if c.take(closing) {
			return true
		}
		if !c.take(',') {
			return false
		}
	}
	return false
}

// text passes over a text, which comes next, and returns it with its quotes. It is plain where it has no escapes and is
// UTF-8.
func (c *cursor) text() (raw []byte, plain, ok bool) {
	if c.peek() != '"' {
		return nil, false, false
	}
	begin := c.at
	plain, wide := true, false
	for c.at++; ; c.at++ {
		c.plainText()
		if c.at >= len(c.in) {
			return nil, false, false
		}
		switch b := c.in[c.at]; {
		case b == '"':
			c.at++
			raw = c.in[begin:c.at]
			return raw, plain && (!wide || utf8.Valid(raw)), true
		case b == '\\':
			plain = false
			if !c.escape() {
				return nil, false, false
			}
		case b < ' ':
			return nil, false, false
		case b >= utf8.RuneSelf:
			wide = true
		}
	}
}

// plainText passes over bytes of a text, eight at a time, as long as nothing among them needs a look.
func (c *cursor) plainText() {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for len(c.in)-c.at >= 8 {
		w := binary.LittleEndian.Uint64(c.in[c.at:])
		quote, escape := w^ones*'"', w^ones*'\\'
		// The top bit of each byte that is one of these, and of some behind the first one.
		if found := ((w - ones*' ') | (quote - ones) | (escape - ones) | w) & tops; found != 0 {
			c.at += bits.TrailingZeros64(found) / 8
			return
		}
		c.at += 8
	}
}

// escape passes over an escape but for its last byte.
func (c *cursor) escape() bool {
	if c.at++; c.at == len(c.in) {
		return false
	}
	switch c.in[c.at] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		for range 4 {
			if c.at++; c.at == len(c.in) || !isHex(c.in[c.at]) {
				return false
			}
		}
		return true
	}
	return false
}

func isHex(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b && b <= 'f' || 'A' <= b && b <= 'F'
}

// scalar passes over a number or a word, which comes next, and returns it.
func (c *cursor) scalar() (raw []byte, ok bool) {
	b := c.peek()
	begin := c.at
	switch {
	case b == 't':
		ok = c.word("true")
	case b == 'f':
		ok = c.word("false")
	case b == 'n':
		ok = c.word(null)
	case isNumber(b):
		ok = c.number()
	}
	return c.in[begin:c.at], ok && (c.at == len(c.in) || endsScalar(c.in[c.at]))
}

func (c *cursor) word(text string) bool {
	if len(c.in)-c.at < len(text) || string(c.in[c.at:c.at+len(text)]) != text {
		return false
	}
	c.at += len(text)
	return true
}

func (c *cursor) number() bool {
	c.one('-')
	if !c.one('0') && !c.digits() {
		return false
	}
	if c.one('.') && !c.digits() {
		return false
	}
	if c.one('e') || c.one('E') {
		_ = c.one('+') || c.one('-')
		return c.digits()
	}
	return true
}

// one passes over a byte if it is the next.
func (c *cursor) one(b byte) bool {
	if c.at == len(c.in) || c.in[c.at] != b {
		return false
	}
	c.at++
	return true
}

func (c *cursor) digits() bool {
	begin := c.at
	for c.at < len(c.in) && '0' <= c.in[c.at] && c.in[c.at] <= '9' {
		c.at++
	}
	return c.at > begin
}

// skip passes over a value of any kind, which comes next, and returns it. level is how many others it lies in.
func (c *cursor) skip(level int) (raw []byte, ok bool) {
	b := c.peek()
	begin := c.at
	switch b {
	case '{':
		ok = c.each("{}", level, func() bool {
			_, _, name := c.text()
			if !name || !c.take(':') {
				return false
			}
			_, value := c.skip(level + 1)
			return value
		})
	case '[':
		ok = c.each("[]", level, func() bool {
			_, value := c.skip(level + 1)
			return value
		})
	case '"':
		_, _, ok = c.text()
	default:
		_, ok = c.scalar()
	}
	return c.in[begin:c.at], ok
}
