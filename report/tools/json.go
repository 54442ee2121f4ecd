package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// JSON returns a file that holds v, indented, as encoding/json writes it. Streams may be members of v and of what it
// holds. A number that JSON cannot hold is an error of Write.
func JSON(name string, v any) File {
	return File{Name: name, Write: func(ctx context.Context, w io.Writer) error {
		d := newDocument(ctx, w)
		d.indented = true
		return d.write(name, func() error { return d.line(reflect.ValueOf(v)) })
	}}
}

// JSONLines returns a file with one value per line. Streams may be in values, as for JSON.
func JSONLines[T any](name string, lines Stream[T]) File {
	return File{Name: name, Write: func(ctx context.Context, w io.Writer) error {
		d := newDocument(ctx, w)
		return d.write(name, func() error {
			for line, err := range lines.elements(ctx) {
				if err == nil {
					err = d.line(line)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}}
}

// document is JSON on its way to a file, as json.Encoder writes it without escapes of HTML, in a tenth of the time.
type document struct {
	ctx      context.Context
	to       io.Writer
	indented bool
	buf      []byte // what is not in the file yet
	shapes   shapes

	enc  *json.Encoder // of what only encoding/json can write; it writes to text
	text bytes.Buffer
}

// block is how much goes to the file at a time.
const block = 256 << 10

func newDocument(ctx context.Context, to io.Writer) *document {
	d := &document{ctx: ctx, to: to, shapes: shapes{}, buf: make([]byte, 0, block+block/4)}
	d.enc = json.NewEncoder(&d.text)
	d.enc.SetEscapeHTML(false)
	return d
}

// write writes a file of the given name with what content makes.
func (d *document) write(name string, content func() error) error {
	err := content()
	if err == nil {
		err = d.flush()
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

func (d *document) flush() error {
	_, err := d.to.Write(d.buf)
	d.buf = d.buf[:0]
	return err
}

// line writes a value and a line feed.
func (d *document) line(v reflect.Value) error {
	err := d.any(v, 0)
	d.buf = append(d.buf, '\n')
	return err
}

// any writes a value of a type that is not known yet. level is how deep it lies.
func (d *document) any(v reflect.Value, level int) error {
	if !v.IsValid() {
		d.buf = append(d.buf, null...)
		return nil
	}
	return d.value(d.shapes.of(v.Type()), v, level)
}

const null = "null"

// value writes a value of a shape.
func (d *document) value(s *shape, v reflect.Value, level int) error {
	if len(d.buf) >= block {
		if err := d.flush(); err != nil {
			return err
		}
	}
	if s.nullable && v.IsNil() {
		d.buf = append(d.buf, null...)
		return nil
	}
	switch s.kind {
	case reflect.Bool:
		d.buf = strconv.AppendBool(d.buf, v.Bool())
	case reflect.Int:
		d.buf = strconv.AppendInt(d.buf, v.Int(), 10)
	case reflect.Float64:
		return d.float(v.Float(), level)
	case reflect.String:
		return d.string(v.String(), level)
	case reflect.Pointer:
		return d.value(s.elem, v.Elem(), level)
	case reflect.Interface:
		return d.any(v.Elem(), level)
	case reflect.Struct:
		return d.object(s, v, level)
	case reflect.Map:
		return d.members(entries(s.elem, v), level)
	case reflect.Array:
		return d.ordered(s.elem, v, level)
	case reflect.Slice:
		return d.array(s.elem, elements(v), level)
	case reflect.Uint8:
		return d.raw(v.Bytes(), level)
	case reflect.Func:
		return d.array(s.elem, v.Interface().(streamed).elements(d.ctx), level)
	default:
		if v.CanAddr() {
			v = v.Addr()
		}
		return d.encode(v.Interface(), level)
	}
	return nil
}

func (d *document) float(v float64, level int) error {
	if !hasPlainDigits(v) {
		return d.encode(v, level)
	}
	d.buf = strconv.AppendFloat(d.buf, v, 'f', -1, 64)
	return nil
}

// hasPlainDigits says whether encoding/json writes a number without an exponent.
func hasPlainDigits(v float64) bool {
	size := math.Abs(v)
	return v == 0 || size >= 1e-6 && size < 1e21
}

// AppendNumber appends a number as encoding/json writes it. NaN and infinity are no JSON: what they are appended to
// cannot be written.
func AppendNumber(b []byte, v float64) []byte {
	if hasPlainDigits(v) {
		return strconv.AppendFloat(b, v, 'f', -1, 64)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return strconv.AppendFloat(b, v, 'g', -1, 64)
	}
	return append(b, text...)
}

// raw writes JSON that is there already.
func (d *document) raw(text []byte, level int) error {
	if !d.isWritten(text) {
		return d.encode(json.RawMessage(text), level)
	}
	d.buf = append(d.buf, text...)
	return nil
}

// isWritten says whether a text is JSON as encoding/json would write it here: without spaces between what it holds, and
// a number, a text or a word where there are lines.
func (d *document) isWritten(text []byte) bool {
	if len(text) == 0 || bytes.ContainsAny(text, " \n\t\r") {
		return false
	}
	if open := text[0] == '{' || text[0] == '['; open && d.indented && len(text) > 2 {
		return false
	}
	c := cursor{in: text}
	_, ok := c.skip(0)
	return ok && c.isAtEnd()
}

func (d *document) string(text string, level int) error {
	if !isPlain(text) {
		return d.encode(text, level)
	}
	d.buf = append(append(append(d.buf, '"'), text...), '"')
	return nil
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

// encode writes a value by encoding/json.
func (d *document) encode(v any, level int) error {
	if d.indented {
		d.enc.SetIndent(strings.Repeat(indent, level), indent)
	}
	d.text.Reset()
	if err := d.enc.Encode(v); err != nil {
		return err
	}
	d.buf = append(d.buf, bytes.TrimSuffix(d.text.Bytes(), []byte("\n"))...)
	return nil
}

const indent = "  "

// feed begins a line on a level, where there are lines.
func (d *document) feed(level int) {
	if !d.indented {
		return
	}
	d.buf = append(d.buf, '\n')
	for range level {
		d.buf = append(d.buf, indent...)
	}
}

// next begins the next after n elements or members.
func (d *document) next(n, level int) {
	if n > 0 {
		d.buf = append(d.buf, ',')
	}
	d.feed(level)
}

// end closes a list or an object of n, an empty one in the same line.
func (d *document) end(closing byte, n, level int) {
	if n > 0 {
		d.feed(level)
	}
	d.buf = append(d.buf, closing)
}

// object writes a struct.
func (d *document) object(s *shape, v reflect.Value, level int) error {
	if len(s.free) > 0 {
		return d.members(s.sorted(v, d.shapes), level)
	}
	d.buf = append(d.buf, '{')
	n := 0
	for i := range s.fields {
		f := &s.fields[i]
		member := f.of(v)
		if f.isOmitted(member) {
			continue
		}
		d.next(n, level+1)
		d.buf = append(d.buf, f.quoted...)
		d.colon()
		if err := d.value(f.shape, member, level+1); err != nil {
			return err
		}
		n++
	}
	d.end('}', n, level)
	return nil
}

func (d *document) colon() {
	d.buf = append(d.buf, ':')
	if d.indented {
		d.buf = append(d.buf, ' ')
	}
}

// namedValue is a member of an object.
type namedValue struct {
	name  string
	shape *shape
	value reflect.Value
}

// members writes an object of members that are no fields.
func (d *document) members(all []namedValue, level int) error {
	d.buf = append(d.buf, '{')
	for i, m := range all {
		if err := d.member(i, m, level); err != nil {
			return err
		}
	}
	d.end('}', len(all), level)
	return nil
}

// ordered writes Members.
func (d *document) ordered(elem *shape, v reflect.Value, level int) error {
	d.buf = append(d.buf, '{')
	for i := range v.Len() {
		member := v.Index(i)
		m := namedValue{member.Field(memberName).String(), elem, member.Field(memberValue)}
		if err := d.member(i, m, level); err != nil {
			return err
		}
	}
	d.end('}', v.Len(), level)
	return nil
}

// member writes a member that is no field, the i-th of its object.
func (d *document) member(i int, m namedValue, level int) error {
	d.next(i, level+1)
	if err := d.string(m.name, level+1); err != nil {
		return err
	}
	d.colon()
	return d.value(m.shape, m.value, level+1)
}

func (d *document) array(elem *shape, elements iter.Seq2[reflect.Value, error], level int) error {
	d.buf = append(d.buf, '[')
	n := 0
	for element, err := range elements {
		if err != nil {
			return err
		}
		d.next(n, level+1)
		if err := d.value(elem, element, level+1); err != nil {
			return err
		}
		n++
	}
	d.end(']', n, level)
	return nil
}
