package jsonscan

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// Eight equal bytes, for looking at eight bytes of a text at once.
const (
	ones    = 0x0101010101010101
	highs   = 0x8080808080808080
	quotes  = '"' * ones
	slashes = '\\' * ones
)

// short is the length up to which a string is searched here, eight bytes at a time; the searches of the library are
// quicker per byte and slower to begin. Keys and tokens are short.
const short = 64

func skipSpace(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && isSpace(b[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// skipString returns the index after the string that starts at i, -1 when there is none.
func skipString(b []byte, i int) int {
	if i < 0 || i >= len(b) || b[i] != '"' {
		return -1
	}
	i++
	for limit := i + short; i+8 <= len(b) && i < limit; {
		w := binary.LittleEndian.Uint64(b[i:])
		q, s := w^quotes, w^slashes
		// The lowest high bit that is left marks the first byte that is a quote or a backslash.
		found := ((q-ones)&^q | (s-ones)&^s) & highs
		if found == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(found) >> 3
		if b[i] == '"' {
			return i + 1
		}
		i += 2
	}
	return skipLong(b, i)
}

// skipLong goes on in a string at i.
func skipLong(b []byte, i int) int {
	for i < len(b) {
		at := bytes.IndexByte(b[i:], '"')
		if at < 0 {
			return -1
		}
		escape := bytes.IndexByte(b[i:i+at], '\\')
		if escape < 0 {
			return i + at + 1
		}
		i += escape + 2
	}
	return -1
}

// skipValue returns the index after the value that starts at i, -1 when there is none.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	}
	from := i
	for i < len(b) && isScalar(b[i]) {
		i++
	}
	if i == from {
		return -1
	}
	return i
}

// isScalar says whether c may be part of a number or a word such as null.
func isScalar(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == '-' || c == '.' || c == '+' || c >= 'A' && c <= 'Z'
}

func skipNested(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i = skipString(b, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}
