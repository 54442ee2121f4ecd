package tools

import (
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
}

// target is what a value is read into.
type target struct {
	kind   reflect.Kind // Int for all whole numbers with a sign; Invalid = encoding/json reads it
	isNull bool         // nothing is kept of it
	elem   *target      // of a pointer
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
	if readsItself(t) {
		return out
	}
	switch kind := t.Kind(); kind {
	case reflect.Bool, reflect.Float64, reflect.String:
		out.kind = kind
	case reflect.Int, reflect.Int64:
		out.kind = reflect.Int
	case reflect.Pointer:
		out.kind, out.elem = kind, r.target(t.Elem())
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
	case r.peek() == 'n':
		if to.kind == reflect.Pointer {
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
	case reflect.String:
		return r.string(v)
	}
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
		v.SetString(string(raw[1 : len(raw)-1]))
		return ok
	}
	var text string
	ok = ok && json.Unmarshal(raw, &text) == nil
	v.SetString(text)
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
		return r.value(f.target, v.FieldByIndex(f.index), level+1)
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
