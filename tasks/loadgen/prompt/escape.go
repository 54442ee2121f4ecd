package prompt

import (
	"encoding/binary"
	"unicode/utf8"
	"unsafe"
)

// appendJSONString is appendJSON of a string, which is only read.
func appendJSONString(b []byte, text string) []byte {
	return appendJSON(b, unsafe.Slice(unsafe.StringData(text), len(text)))
}

// appendJSON appends text as the inside of a JSON string. Bytes that are no UTF-8 become U+FFFD.
func appendJSON(b, text []byte) []byte {
	done := 0
	for i := 0; i < len(text); {
		if len(text)-i >= 8 && plain(binary.LittleEndian.Uint64(text[i:])) {
			i += 8
			continue
		}
		c := text[i]
		if c >= utf8.RuneSelf {
			if r, n := utf8.DecodeRune(text[i:]); r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
		} else if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b = escape(append(b, text[done:i]...), c)
		i++
		done = i
	}
	return append(b, text[done:]...)
}

// plain says whether the eight bytes of w are ASCII and stand for themselves in a JSON string.
func plain(w uint64) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	quote, slash := w^(ones*'"'), w^(ones*'\\')
	// A byte of x is zero where (x - ones) &^ x has its high bit; one below ' ' has it after the subtraction.
	return ((w-ones*' ')|w|(quote-ones)&^quote|(slash-ones)&^slash)&high == 0
}

func escape(b []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch {
	case c == '"' || c == '\\':
		return append(b, '\\', c)
	case c == '\n':
		return append(b, `\n`...)
	case c == '\t':
		return append(b, `\t`...)
	case c < ' ':
		return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
	}
	return append(b, `\ufffd`...)
}
