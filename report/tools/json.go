package tools

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math"
	"reflect"
	"strconv"
	"unicode/utf8"
)

// JSON returns a file that holds v, indented, as encoding/json writes it. Streams may be members of v and of what it
// holds. A number that JSON cannot hold is an error of Write.
func JSON(name string, v any) File {
	return File{Name: name, Write: func(ctx context.Context, w io.Writer) error {
		return write(ctx, name, w, func(d *document) error {
			if err := d.value(v, "\n"); err != nil {
				return err
			}
			return d.out.WriteByte('\n')
		})
	}}
}

// JSONLines returns a file with one value per line. Streams may be in values, as for JSON.
func JSONLines[T any](name string, lines Stream[T]) File {
	return File{Name: name, Write: func(ctx context.Context, w io.Writer) error {
		return write(ctx, name, w, func(d *document) error {
			for line, err := range lines(ctx) {
				if err == nil {
					err = d.value(line, "")
				}
				if err == nil {
					err = d.out.WriteByte('\n')
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}}
}

func write(ctx context.Context, name string, w io.Writer, content func(d *document) error) error {
	d := &document{ctx: ctx, out: bufio.NewWriterSize(w, 256<<10)}
	d.shapes = newShapes()
	d.enc = json.NewEncoder(&d.buf)
	d.enc.SetEscapeHTML(false)
	err := content(d)
	if err == nil {
		err = d.out.Flush()
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// document is JSON on its way to a file, as json.Encoder writes it. An error of out stays there until it is flushed.
type document struct {
	ctx context.Context
	out *bufio.Writer
	enc *json.Encoder
	buf bytes.Buffer // an encoded value

	shapes shapes
}

// value writes v. newline is a line feed and the indent of the line that v begins on; "" for all in one line.
func (d *document) value(v any, newline string) error {
	if text, ok := appendScalar(d.out.AvailableBuffer(), v); ok {
		_, err := d.out.Write(text)
		return err
	}
	if d.shapes.isOpen(reflect.TypeOf(v)) {
		return d.openValue(reflect.ValueOf(v), newline)
	}
	if newline == "" {
		d.enc.SetIndent("", "")
	} else {
		d.enc.SetIndent(newline[1:], indent)
	}
	d.buf.Reset()
	if err := d.enc.Encode(v); err != nil {
		return err
	}
	d.buf.Truncate(d.buf.Len() - 1) // without the line feed of an encoder
	_, err := d.out.Write(d.buf.Bytes())
	return err
}

// appendScalar appends what most members are as encoding/json writes it, in a fifth of the time; false for all else.
func appendScalar(b []byte, v any) ([]byte, bool) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), true
	case bool:
		return strconv.AppendBool(b, v), true
	case int:
		return strconv.AppendInt(b, int64(v), 10), true
	case int64:
		return strconv.AppendInt(b, v, 10), true
	case *float64:
		if v != nil {
			return appendScalar(b, *v)
		}
		return append(b, "null"...), true
	case *string:
		if v != nil {
			return appendScalar(b, *v)
		}
		return append(b, "null"...), true
	case float64:
		// encoding/json writes others with an exponent.
		if size := math.Abs(v); v == 0 || size >= 1e-6 && size < 1e21 {
			return strconv.AppendFloat(b, v, 'f', -1, 64), true
		}
	case string:
		if isPlain(v) {
			return append(append(append(b, '"'), v...), '"'), true
		}
	}
	return b, false
}

// isPlain says whether a text needs no escapes.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

const indent = "  "

// deeper is newline one level further in.
func deeper(newline string) string {
	if newline == "" {
		return ""
	}
	return newline + indent
}

// members writes an object.
func (d *document) members(all iter.Seq2[string, any], newline string) error {
	inner, colon := deeper(newline), ": "
	if newline == "" {
		colon = ":"
	}
	open := "{"
	for name, v := range all {
		io.WriteString(d.out, open+inner)
		if err := d.value(name, ""); err != nil {
			return err
		}
		io.WriteString(d.out, colon)
		if err := d.value(v, inner); err != nil {
			return err
		}
		open = ","
	}
	return d.end(open, "{", "}", newline)
}

func (d *document) array(elements iter.Seq2[any, error], newline string) error {
	inner, open := deeper(newline), "["
	for element, err := range elements {
		if err != nil {
			return err
		}
		io.WriteString(d.out, open)
		io.WriteString(d.out, inner)
		if err := d.value(element, inner); err != nil {
			return err
		}
		open = ","
	}
	return d.end(open, "[", "]", newline)
}

// end closes what was opened, an empty one in the same line.
func (d *document) end(open, begin, closing, newline string) error {
	if open == begin {
		closing = begin + closing
	} else {
		closing = newline + closing
	}
	_, err := d.out.WriteString(closing)
	return err
}
