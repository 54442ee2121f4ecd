// Package jsonscan finds values in JSON text without decoding the rest of it: what a stream of small events needs,
// thousands per second. It checks structure only as far as it has to find its way.
package jsonscan

import (
	"bytes"
	"errors"
	"strconv"
)

// ErrSyntax says that the text is not the JSON that was looked for.
var ErrSyntax = errors.New("malformed JSON")

// Object calls f with the raw key (without quotes, escapes as written) and the raw value of every member of the
// object that is the whole of b, in order. It stops at the first error of f and returns it.
func Object(b []byte, f func(key, value []byte) error) error {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return ErrSyntax
	}
	if i = skipSpace(b, i+1); i < len(b) && b[i] == '}' {
		return end(b, i+1)
	}
	for {
		keyEnd := skipString(b, i)
		if keyEnd < 0 {
			return ErrSyntax
		}
		key := b[i+1 : keyEnd-1]
		if i = skipSpace(b, keyEnd); i >= len(b) || b[i] != ':' {
			return ErrSyntax
		}
		i = skipSpace(b, i+1)
		valueEnd := skipValue(b, i)
		if valueEnd < 0 {
			return ErrSyntax
		}
		if err := f(key, b[i:valueEnd]); err != nil {
			return err
		}
		if i = skipSpace(b, valueEnd); i >= len(b) {
			return ErrSyntax
		}
		if b[i] == '}' {
			return end(b, i+1)
		}
		if b[i] != ',' {
			return ErrSyntax
		}
		i = skipSpace(b, i+1)
	}
}

// Array calls f with every raw element of the array that is the whole of b. It stops at the first error of f.
func Array(b []byte, f func(value []byte) error) error {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '[' {
		return ErrSyntax
	}
	if i = skipSpace(b, i+1); i < len(b) && b[i] == ']' {
		return end(b, i+1)
	}
	for {
		valueEnd := skipValue(b, i)
		if valueEnd < 0 {
			return ErrSyntax
		}
		if err := f(b[i:valueEnd]); err != nil {
			return err
		}
		if i = skipSpace(b, valueEnd); i >= len(b) {
			return ErrSyntax
		}
		if b[i] == ']' {
			return end(b, i+1)
		}
		if b[i] != ',' {
			return ErrSyntax
		}
		i = skipSpace(b, i+1)
	}
}

// Len returns the number of elements of a raw array, 0 when value is not one.
func Len(value []byte) int {
	n := 0
	if Array(value, func([]byte) error { n++; return nil }) != nil {
		return 0
	}
	return n
}

// Int returns a raw value as an integer; false when it is not one.
func Int(value []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(value), 10, 64)
	return n, err == nil
}

// IsNull says whether a raw value is null.
func IsNull(value []byte) bool { return string(value) == "null" }

// Filled says whether a raw value is a string with at least one character.
func Filled(value []byte) bool { return len(value) > 2 && value[0] == '"' }

func end(b []byte, i int) error {
	if skipSpace(b, i) != len(b) {
		return ErrSyntax
	}
	return nil
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string that starts at i, -1 when there is none.
func skipString(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	for i++; i < len(b); i++ {
		at := bytes.IndexByte(b[i:], '"')
		if at < 0 {
			return -1
		}
		escape := bytes.IndexByte(b[i:i+at], '\\')
		if escape < 0 {
			return i + at + 1
		}
		i += escape + 1 // the loop steps over the escaped character
	}
	return -1
}

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
	for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' && b[i] != ' ' && b[i] != '\n' && b[i] != '\t' && b[i] != '\r' {
		if b[i] == '"' || b[i] == ':' || b[i] == '{' || b[i] == '[' {
			return -1
		}
		i++
	}
	if i == from {
		return -1
	}
	return i
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
