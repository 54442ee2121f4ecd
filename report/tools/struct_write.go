package tools

import (
	"encoding"
	"encoding/json"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// freeTag is the tag of a map in a struct whose entries are members of the struct's object, sorted among the others by
// their names; one that has the name of another member replaces it. encoding/json is to skip such a field.
const freeTag = "free"

// shapes are how values of the types of a document are written.
type shapes map[reflect.Type]*shape

// shape is how values of a type are written.
type shape struct {
	// Int for all whole numbers with a sign, Slice for arrays, Array for Members, Func for Streams, Uint8 for JSON that
	// is there already; Invalid = encoding/json does
	kind     reflect.Kind
	nullable bool
	elem     *shape // of pointers, lists, maps and Members
	layout          // of structs
}

// layout is how the members of a struct are written.
type layout struct {
	fields []structField
	free   [][]int // the fields that hold free members
	odd    bool    // encoding/json has rules for it that are not those of here
}

type structField struct {
	name, quoted        string
	index               []int
	shape               *shape
	omitEmpty, omitZero bool
	hasIsZero           bool
}

// of returns the shape of a type.
func (s shapes) of(t reflect.Type) *shape {
	out := s[t]
	if out == nil {
		out = &shape{}
		s[t] = out // a type may hold itself
		s.fill(out, t)
	}
	return out
}

func (s shapes) fill(out *shape, t reflect.Type) {
	kind := t.Kind()
	switch {
	case t.Implements(reflect.TypeFor[streamed]()):
		out.kind, out.nullable = kind, true
		out.elem = s.of(reflect.Zero(t).Interface().(streamed).element())
		return
	case t.Implements(reflect.TypeFor[ordered]()):
		out.kind, out.nullable, out.elem = reflect.Array, true, s.of(t.Elem().Field(memberValue).Type)
		return
	case t == reflect.TypeFor[json.RawMessage]():
		out.kind, out.nullable = reflect.Uint8, true
		return
	case writesItself(t):
		return
	}
	switch kind {
	case reflect.Bool, reflect.Float64, reflect.String:
		out.kind = kind
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		out.kind = reflect.Int
	case reflect.Interface:
		out.kind, out.nullable = kind, true
	case reflect.Pointer:
		out.kind, out.nullable, out.elem = kind, true, s.of(t.Elem())
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() != reflect.Uint8 { // bytes are a text in base64
			out.kind, out.nullable, out.elem = reflect.Slice, kind == reflect.Slice, s.of(t.Elem())
		}
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			out.kind, out.nullable, out.elem = kind, true, s.of(t.Elem())
		}
	case reflect.Struct:
		if out.add(t, nil); !out.odd {
			out.kind = kind
		}
		for i, f := range out.fields {
			out.fields[i].shape = s.of(t.FieldByIndex(f.index).Type)
		}
	}
}

// writesItself says whether a type has a way of its own to be written.
func writesItself(t reflect.Type) bool {
	for _, method := range []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()} {
		if t.Implements(method) || reflect.PointerTo(t).Implements(method) {
			return true
		}
	}
	return t == reflect.TypeFor[json.Number]()
}

// add appends the fields of a struct as encoding/json knows them, those of embedded structs in their place.
func (l *layout) add(t reflect.Type, at []int) {
	for f := range t.Fields() {
		index := slices.Concat(at, f.Index)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			l.add(f.Type, index)
		case f.Tag.Get(freeTag) != "":
			l.free = append(l.free, index)
		case f.IsExported() && name != "-":
			if name == "" {
				name = f.Name
				l.odd = l.odd || f.Anonymous
			}
			l.fields = append(l.fields, l.field(f.Type, name, index, strings.Split(options, ",")))
		}
	}
}

func (l *layout) field(t reflect.Type, name string, index []int, options []string) structField {
	l.odd = l.odd || slices.Contains(options, "string") ||
		slices.ContainsFunc(l.fields, func(f structField) bool { return f.name == name })
	return structField{name: name, quoted: encoded(name), index: index,
		omitEmpty: slices.Contains(options, "omitempty"), omitZero: slices.Contains(options, "omitzero"),
		hasIsZero: t.Implements(reflect.TypeFor[interface{ IsZero() bool }]())}
}

// of returns the field of a struct.
func (f *structField) of(v reflect.Value) reflect.Value { return fieldAt(v, f.index) }

// fieldAt is v.FieldByIndex, faster for a field that is embedded in no other.
func fieldAt(v reflect.Value, index []int) reflect.Value {
	if len(index) == 1 {
		return v.Field(index[0])
	}
	return v.FieldByIndex(index)
}

// isOmitted says whether a field is left out for what it holds.
func (f *structField) isOmitted(v reflect.Value) bool {
	switch {
	case f.omitZero && f.hasIsZero:
		return v.Interface().(interface{ IsZero() bool }).IsZero()
	case f.omitZero:
		return v.IsZero()
	}
	return f.omitEmpty && isEmpty(v)
}

// isEmpty is what encoding/json omits as empty; a nil Stream is too.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Map, reflect.Slice, reflect.String, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// sorted are the members of a struct with free ones, by their names.
func (s *shape) sorted(v reflect.Value, known shapes) []namedValue {
	all := map[string]namedValue{}
	for i := range s.fields {
		f := &s.fields[i]
		if member := f.of(v); !f.isOmitted(member) {
			all[f.name] = namedValue{f.name, f.shape, member}
		}
	}
	for _, index := range s.free {
		free := v.FieldByIndex(index)
		for _, m := range entries(known.of(free.Type().Elem()), free) {
			all[m.name] = m
		}
	}
	return slices.SortedFunc(maps.Values(all), byName)
}

func byName(a, b namedValue) int { return strings.Compare(a.name, b.name) }

// entries are the entries of a map with texts as keys, by their names.
func entries(elem *shape, v reflect.Value) []namedValue {
	out := make([]namedValue, 0, v.Len())
	for name, value := range v.Seq2() {
		out = append(out, namedValue{name.String(), elem, value})
	}
	slices.SortFunc(out, byName)
	return out
}

func elements(v reflect.Value) iter.Seq2[reflect.Value, error] {
	return func(yield func(reflect.Value, error) bool) {
		for i := range v.Len() {
			if !yield(v.Index(i), nil) {
				return
			}
		}
	}
}
