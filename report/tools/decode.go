package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
)

// FormatError is a file that is not what its tool writes.
type FormatError struct{ Err error }

func (e *FormatError) Error() string { return e.Err.Error() }
func (e *FormatError) Unwrap() error { return e.Err }

// Malformed returns a FormatError.
func Malformed(format string, args ...any) error {
	return &FormatError{Err: fmt.Errorf(format, args...)}
}

// Decode reads the JSON of a document into v. An error names the file and the path into it.
func Decode(doc Document, v any) error { return decode(doc.Data, v, func() string { return doc.Path }) }

// HasMembers says whether a document is an object with all of some members, none of them null.
func HasMembers(doc Document, names ...string) bool {
	var all Free
	err := Decode(doc, &all)
	return err == nil && !slices.ContainsFunc(names, func(name string) bool {
		return len(all[name]) == 0 || string(all[name]) == "null"
	})
}

// decode reads JSON into v; where names its place in an error.
func decode(data []byte, v any, where func() string) error {
	err := json.Unmarshal(data, v)
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		err = decodeNeeded(data, v, err)
	}
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &kind) && kind.Field == "": // it is the whole value
		return Malformed("reading %q: want %s, found %s", where(), kindOf(kind.Type), kind.Value)
	case errors.As(err, &kind):
		return Malformed("reading %q: %s: want %s, found %s", where(), kind.Field, kindOf(kind.Type), kind.Value)
	case errors.As(err, &syntax):
		return Malformed("reading %q: byte %d: %s", where(), syntax.Offset, syntax.Error())
	}
	return Malformed("reading %q: %w", where(), err)
}

// kindOf is a type in the words of JSON.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	}
	return t.String()
}

// longestWord is more than a word of JSON or of Python has.
const longestWord = 10

// notANumber is the length of the word of Python for what JSON has no number for that b begins with; 0 without one.
func notANumber(b []byte) int {
	for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
		if bytes.HasPrefix(b, []byte(word)) {
			return len(word)
		}
	}
	return 0
}

// Seconds turns unix seconds into unix ns; false for what is no time of this or the last century.
func Seconds(s float64) (int64, bool) {
	if math.IsNaN(s) || s < 0 || s > 1e10 {
		return 0, false
	}
	return int64(math.Round(s * 1e9)), true
}

// Since returns the ns from anchor to t, both in s, as exactly as their difference is known; false where it is no time
// that a run can take.
func Since(anchor, t float64) (int64, bool) {
	d := (t - anchor) * 1e9
	if math.IsNaN(d) || math.Abs(d) > 1e18 {
		return 0, false
	}
	return int64(math.Round(d)), true
}
