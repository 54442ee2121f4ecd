package runplan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// canonicaliser rewrites the compact JSON that encoding/json made. It relies on that form: no blanks between
// tokens, valid syntax.
type canonicaliser struct {
	in, out []byte
	at      int
	scratch []byte
}

func (c *canonicaliser) value() error {
	switch c.in[c.at] {
	case '{':
		return c.object()
	case '[':
		return c.array()
	case '"':
		_, err := c.text(false)
		return err
	case 't', 'f', 'n':
		end := c.at + bytes.IndexByte(c.in[c.at:], 'e') + 1 // true, false
		if c.in[c.at] == 'n' {
			end = c.at + len("null")
		}
		c.out = append(c.out, c.in[c.at:end]...)
		c.at = end
		return nil
	}
	return c.number()
}

func (c *canonicaliser) array() error {
	c.copyByte()
	for c.in[c.at] != ']' {
		if c.in[c.at] == ',' {
			c.copyByte()
		}
		if err := c.value(); err != nil {
			return err
		}
	}
	c.copyByte()
	return nil
}

// member is one "key":value of an object, as the range of the output that holds it.
type member struct {
	key        []byte
	start, end int
}

func (c *canonicaliser) object() error {
	c.copyByte()
	members := make([]member, 0, 8)
	for c.in[c.at] != '}' {
		if c.in[c.at] == ',' {
			c.at++
		}
		m := member{start: len(c.out)}
		var err error
		if m.key, err = c.text(true); err != nil {
			return err
		}
		c.copyByte() // the colon
		if err := c.value(); err != nil {
			return err
		}
		m.end = len(c.out)
		members = append(members, m)
	}
	c.sort(members)
	c.copyByte()
	return nil
}

// sort puts the members, which end the output, in the order of their keys, with commas between them.
func (c *canonicaliser) sort(members []member) {
	if len(members) < 2 {
		return
	}
	first := members[0].start
	slices.SortFunc(members, func(a, b member) int { return compareKeys(a.key, b.key) })
	c.scratch = append(c.scratch[:0], c.out[first:]...)
	c.out = c.out[:first]
	for i, m := range members {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		c.out = append(c.out, c.scratch[m.start-first:m.end-first]...)
	}
}

// compareKeys orders by UTF-16 code units, as the RFC asks. For ASCII that is the order of bytes.
func compareKeys(a, b []byte) int {
	if isASCII(a) && isASCII(b) {
		return bytes.Compare(a, b)
	}
	return slices.Compare(utf16.Encode([]rune(string(a))), utf16.Encode([]rune(string(b))))
}

func isASCII(s []byte) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// text copies a string. Its value is returned for keys, which have to be compared.
func (c *canonicaliser) text(key bool) ([]byte, error) {
	end := c.at + 1
	escaped, canonical := false, true
	for c.in[end] != '"' {
		if c.in[end] == '\\' {
			end++
			escaped = true
			canonical = canonical && strings.IndexByte(`"\bfnrt`, c.in[end]) >= 0
		}
		end++
	}
	raw := c.in[c.at : end+1]
	c.at = end + 1
	if !escaped || canonical && !key {
		c.out = append(c.out, raw...)
		return raw[1 : len(raw)-1], nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, err
	}
	if canonical {
		c.out = append(c.out, raw...)
	} else {
		c.out = appendText(c.out, s)
	}
	return []byte(s), nil
}

// appendText writes s with the fewest escapes.
func appendText(out []byte, s string) []byte {
	const short, letters = "\"\\\b\f\n\r\t", `"\bfnrt`
	out = append(out, '"')
	for i := range len(s) {
		switch at := strings.IndexByte(short, s[i]); {
		case at >= 0:
			out = append(out, '\\', letters[at])
		case s[i] < 0x20:
			out = fmt.Appendf(out, `\u%04x`, s[i])
		default:
			out = append(out, s[i])
		}
	}
	return append(out, '"')
}

func (c *canonicaliser) number() error {
	end := c.at
	for end < len(c.in) && strings.IndexByte("+-.eE0123456789", c.in[end]) >= 0 {
		end++
	}
	raw := c.in[c.at:end]
	c.at = end
	integer := !bytes.ContainsAny(raw, ".eE")
	if integer && len(raw) <= 15 && raw[0] != '-' {
		c.out = append(c.out, raw...)
		return nil
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return err
	}
	if f == 0 { // minus zero too
		c.out = append(c.out, '0')
		return nil
	}
	b, err := json.Marshal(f) // the rules of ECMAScript, as the RFC wants
	if err == nil && integer && !bytes.Equal(b, raw) {
		return fmt.Errorf("%s is beyond 2^53 and would be rounded; write it as text", raw)
	}
	c.out = append(c.out, b...)
	return err
}

func (c *canonicaliser) copyByte() {
	c.out = append(c.out, c.in[c.at])
	c.at++
}
