package wire

import (
	"encoding/binary"
	"math/bits"
)

// Eight equal bytes, for looking at eight bytes of a text at once.
const (
	ones    = 0x0101010101010101
	highs   = 0x8080808080808080
	quotes  = '"' * ones
	slashes = '\\' * ones
	blanks  = ' ' * ones
)

// plainPrefix returns how many bytes at the beginning of b are surely neither a quote, nor a backslash, nor a control
// character.
func plainPrefix(b []byte) int {
	n := 0
	for ; n+8 <= len(b); n += 8 {
		w := binary.LittleEndian.Uint64(b[n:])
		q, e := w^quotes, w^slashes
		if found := ((q-ones)&^q | (e-ones)&^e | (w-blanks)&^w) & highs; found != 0 {
			return n + bits.TrailingZeros64(found)>>3
		}
	}
	return n
}

// known returns b as a string, without a new one for the names that requests are made of.
func known(b []byte) string {
	switch string(b) {
	case "model":
		return "model"
	case "messages":
		return "messages"
	case "prompt":
		return "prompt"
	case "role":
		return "role"
	case "user":
		return "user"
	case "content":
		return "content"
	case "stream":
		return "stream"
	case "stream_options":
		return "stream_options"
	case "include_usage":
		return "include_usage"
	case "max_tokens":
		return "max_tokens"
	case "min_tokens":
		return "min_tokens"
	case "max_completion_tokens":
		return "max_completion_tokens"
	case "ignore_eos":
		return "ignore_eos"
	case "temperature":
		return "temperature"
	}
	return string(b)
}

// appendQuoted appends s as JSON.
func appendQuoted(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return append(b, quote(s)...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}
