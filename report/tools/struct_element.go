package tools

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// elementReader reads objects into structs of one type as encoding/json does, in a tenth of the time: files have
// millions of them, with a hundred members each. What it does not know it leaves to encoding/json.
type elementReader struct {
	cursor
	top     *target
	targets map[reflect.Type]*target
	texts   [64]string // that were read, each at a place that follows from it: many are of few kinds
	room    []byte     // for JSON that is kept as it is
}

// target is what a value is read into.
type target struct {
	// Int for all whole numbers with a sign, Array for Members, Uint8 for JSON that is kept as it is; Invalid =
	// encoding/json reads it
	kind   reflect.Kind
	isNull bool    // nothing is kept of it
	elem   *target // of a pointer, a list or Members
	usual  int     // elements of a list or Members
	fields []targetField
	others map[string]bool // names of members without a field, as they are spelt
}

type targetField struct {
	quoted string
	index  []int
	target *target
}

func newElementReader(t reflect.Type) *elementReader {
	r := &elementReader{targets: map[reflect.Type]*target{}}
	r.top = r.target(t)
	return r
}

func (r *elementReader) target(t reflect.Type) *target {
	out := r.targets[t]
	if out != nil {
		return out
	}
	out = &target{isNull: t == reflect.TypeFor[Null]()}
	r.targets[t] = out // a type may hold itself
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		out.kind = reflect.Uint8
		return out
	case t.Implements(reflect.TypeFor[ordered]()):
		out.kind, out.elem = reflect.Array, r.target(t.Elem().Field(memberValue).Type)
		return out
	case readsItself(t):
		return out
	}
	switch kind := t.Kind(); kind {
	case reflect.Bool, reflect.Float64, reflect.String:
		out.kind = kind
	case reflect.Int, reflect.Int64:
		out.kind = reflect.Int
	case reflect.Pointer:
		out.kind, out.elem = kind, r.target(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 { // bytes are a text in base64
			out.kind, out.elem = kind, r.target(t.Elem())
		}
	case reflect.Struct:
		var l layout
		if l.add(t, nil); l.odd {
			break
		}
		out.kind, out.others = kind, map[string]bool{}
		for _, f := range l.fields {
			out.fields = append(out.fields, targetField{f.quoted, f.index, r.target(t.FieldByIndex(f.index).Type)})
		}
	}
	return out
}

// readsItself says whether a type has a way of its own to be read.
func readsItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return t == reflect.TypeFor[json.Number]() || p.Implements(reflect.TypeFor[json.Unmarshaler]()) ||
		p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// read reads an object into v, which is zero; false where encoding/json is to do it, after which v is of no use.
func (r *elementReader) read(element []byte, v reflect.Value) bool {
	r.in, r.at = element, 0
	return r.value(r.top, v, 0) && r.isAtEnd()
}

func (r *elementReader) value(to *target, v reflect.Value, level int) bool {
	switch {
	case to.isNull:
		_, ok := r.skip(level)
		return ok
	case to.kind == reflect.Invalid:
		raw, ok := r.skip(level)
		return ok && json.Unmarshal(raw, v.Addr().Interface()) == nil
	case to.kind == reflect.Uint8:
		raw, ok := r.skip(level)
		v.SetBytes(r.kept(raw))
		return ok
	case r.peek() == 'n':
		if to.kind == reflect.Pointer || to.kind == reflect.Slice || to.kind == reflect.Array {
			v.SetZero()
		}
		raw, ok := r.scalar()
		return ok && len(raw) > 0
	}
	switch to.kind {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return r.value(to.elem, v.Elem(), level)
	case reflect.Struct:
		return r.object(to, v, level)
	case reflect.Array:
		return r.members(to, v, level)
	case reflect.Slice:
		return r.list(to, v, level)
	case reflect.String:
		return r.string(v)
	}
	return r.plain(to, v)
}

// plain reads a number, true or false.
func (r *elementReader) plain(to *target, v reflect.Value) bool {
	raw, ok := r.scalar()
	if !ok {
		return false
	}
	switch to.kind {
	case reflect.Bool:
		v.SetBool(string(raw) == "true")
		return raw[0] == 't' || raw[0] == 'f'
	case reflect.Int:
		n, err := strconv.ParseInt(string(raw), 10, 64)
		v.SetInt(n)
		return err == nil
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	v.SetFloat(n)
	return err == nil
}

func (r *elementReader) string(v reflect.Value) bool {
	raw, plain, ok := r.text()
	if plain {
		v.SetString(r.textOf(raw[1 : len(raw)-1]))
		return ok
	}
	var text string
	ok = ok && json.Unmarshal(raw, &text) == nil
	v.SetString(text)
	return ok
}

// textOf returns a text, where it can one that was made before.
func (r *elementReader) textOf(raw []byte) string {
	n := len(raw)
	if n == 0 || n > 32 {
		return string(raw)
	}
	place := &r.texts[(n+int(raw[0])+7*int(raw[n-1]))%len(r.texts)]
	if *place != string(raw) {
		*place = string(raw)
	}
	return *place
}

// roomForRaw is what is made at a time for many small pieces of JSON.
const roomForRaw = 16 << 10

// kept returns a copy.
func (r *elementReader) kept(raw []byte) []byte {
	if len(raw) > roomForRaw/16 {
		return bytes.Clone(raw)
	}
	if len(raw) > cap(r.room)-len(r.room) {
		r.room = make([]byte, 0, roomForRaw)
	}
	from := len(r.room)
	r.room = append(r.room, raw...)
	return r.room[from:len(r.room):len(r.room)]
}

// usualMost bounds the room that is made for a list before its end is known.
const usualMost = 64

// grow makes room in a list for an element more.
func (to *target) grow(v reflect.Value) {
	if n := v.Cap(); n == 0 {
		v.Grow(max(1, to.usual))
	} else if n == v.Len() {
		v.Grow(1)
	}
}

// list reads a list. encoding/json keeps what a second list of one name does not write over, and so does this.
func (r *elementReader) list(to *target, v reflect.Value, level int) bool {
	n := 0
	ok := r.each("[]", level, func() bool {
		if n++; n > v.Len() {
			to.grow(v)
			v.SetLen(n)
		}
		return r.value(to.elem, v.Index(n-1), level+1)
	})
	if v.SetLen(n); n == 0 {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	}
	to.usual = min(n, usualMost)
	return ok
}

// members reads an object of Members.
func (r *elementReader) members(to *target, v reflect.Value, level int) bool {
	n := v.Len() // a second object of one name adds to the first
	ok := r.each("{}", level, func() bool {
		to.grow(v)
		n++
		v.SetLen(n)
		member := v.Index(n - 1)
		return r.string(member.Field(memberName)) && r.take(':') &&
			r.value(to.elem, member.Field(memberValue), level+1)
	})
	if n == 0 {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	}
	to.usual = min(n, usualMost)
	return ok
}

func (r *elementReader) object(to *target, v reflect.Value, level int) bool {
	next := 0 // members mostly come in the order of the fields
	return r.each("{}", level, func() bool {
		raw, _, ok := r.text()
		if !ok || !r.take(':') {
			return false
		}
		i, ok := to.field(raw, next)
		if !ok {
			return false
		}
		if i < 0 {
			_, ok = r.skip(level + 1)
			return ok
		}
		next = i + 1
		f := &to.fields[i]
		return r.value(f.target, fieldAt(v, f.index), level+1)
	})
}

// field returns the number of the field of a name, which is written with quotes, -1 for none; false where only
// encoding/json can tell. next is where it probably is.
func (to *target) field(raw []byte, next int) (int, bool) {
	if next < len(to.fields) && to.fields[next].quoted == string(raw) {
		return next, true
	}
	for i := range to.fields {
		if to.fields[i].quoted == string(raw) {
			return i, true
		}
	}
	if to.others[string(raw)] {
		return -1, true
	}
	name := decoded(raw)
	for i := range to.fields {
		if strings.EqualFold(decoded([]byte(to.fields[i].quoted)), name) {
			return 0, false
		}
	}
	if len(to.others) < 1<<10 {
		to.others[string(raw)] = true
	}
	return -1, true
}
