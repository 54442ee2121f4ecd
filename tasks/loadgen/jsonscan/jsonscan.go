// Package jsonscan finds values in JSON text without decoding the rest of it, for streams with thousands of small
// events per second. It checks structure only as far as it needs to find the values.
package jsonscan

import "errors"

// ErrSyntax says that the text is not the JSON that was looked for.
var ErrSyntax = errors.New("malformed JSON")

// Object calls f with the raw key (without quotes, escapes as written) and the raw value of every member of the
// object that is the whole of b, in order. It stops at the first error of f and returns it.
func Object(b []byte, f func(key, value []byte) error) error {
	c := At(b)
	if !c.enter('{') {
		return ErrSyntax
	}
	for key, ok := c.Key(); ok; key, ok = c.Key() {
		value := c.Raw()
		if c.bad {
			return ErrSyntax
		}
		if err := f(key, value); err != nil {
			return err
		}
	}
	return c.Err()
}

// Array calls f with every raw element of the array that is the whole of b. It stops at the first error of f.
func Array(b []byte, f func(value []byte) error) error {
	c := At(b)
	if !c.enter('[') {
		return ErrSyntax
	}
	for c.More() {
		value := c.Raw()
		if c.bad {
			return ErrSyntax
		}
		if err := f(value); err != nil {
			return err
		}
	}
	return c.Err()
}

// Len returns the number of elements of a raw array, 0 when value is not one.
func Len(value []byte) int {
	n := 0
	if Array(value, func([]byte) error { n++; return nil }) != nil {
		return 0
	}
	return n
}

// Int returns a raw value as an integer; false when it is not one, or beyond 18 digits.
func Int(value []byte) (int64, bool) {
	digits := value
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) == 0 || len(digits) > 18 {
		return 0, false
	}
	n := int64(0)
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	if len(digits) < len(value) {
		n = -n
	}
	return n, true
}

// IsNull says whether a raw value is null.
func IsNull(value []byte) bool { return string(value) == "null" }

// Filled says whether a raw value is a string with at least one character.
func Filled(value []byte) bool { return len(value) > 2 && value[0] == '"' }
