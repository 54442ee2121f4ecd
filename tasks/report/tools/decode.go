package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// Decode reads the JSON of a document into v. An error names the file and the path into it.
func Decode(doc Document, v any) error {
	err := json.Unmarshal(clean(doc.Data), v)
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &kind):
		return fmt.Errorf("reading %q: %s: want %s, found %s", doc.Path, kind.Field, kind.Type, kind.Value)
	case errors.As(err, &syntax):
		return fmt.Errorf("reading %q: byte %d: %s", doc.Path, syntax.Offset, syntax.Error())
	}
	return fmt.Errorf("reading %q: %w", doc.Path, err)
}

// DecodeLines reads one value per line. Blank lines are passed over; an error names the line.
func DecodeLines[T any](doc Document) ([]T, error) {
	var out []T
	n := 0
	for line := range bytes.Lines(clean(doc.Data)) {
		if n++; len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var v T
		if err := Decode(Document{Path: fmt.Sprintf("%s:%d", doc.Path, n), Data: line}, &v); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// clean replaces what Python writes and JSON does not know: NaN and the infinities become null outside of texts.
func clean(data []byte) []byte {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !bytes.Contains(data, []byte("NaN")) && !bytes.Contains(data, []byte("Infinity")) {
		return data
	}
	out, text := make([]byte, 0, len(data)), false
	for i := 0; i < len(data); i++ {
		c := data[i]
		switch {
		case text && c == '\\' && i+1 < len(data):
			out = append(out, c, data[i+1])
			i++
			continue
		case c == '"':
			text = !text
		case !text && (c == 'N' || c == 'I' || c == '-'):
			if n := notANumber(data[i:]); n > 0 {
				out = append(out, "null"...)
				i += n - 1
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

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
