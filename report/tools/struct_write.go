package tools

import (
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// freeTag is the tag of a map in a struct whose entries are members of the struct's object, sorted among the others by
// their names; one that has the name of another member replaces it. encoding/json is to skip such a field.
const freeTag = "free"

// shapes knows the types of a document that encoding/json cannot write: those that hold a Stream or free members.
type shapes struct {
	open    map[reflect.Type]bool
	layouts map[reflect.Type]*layout
}

func newShapes() shapes {
	return shapes{open: map[reflect.Type]bool{}, layouts: map[reflect.Type]*layout{}}
}

// layout is how a struct is written.
type layout struct {
	fields []structField
	free   [][]int // the fields that hold free members
}

type structField struct {
	name                string
	index               []int
	omitEmpty, omitZero bool
}

// isOpen says whether a value of the type can hold a Stream or free members.
func (s shapes) isOpen(t reflect.Type) bool {
	if known, ok := s.open[t]; ok {
		return known
	}
	s.open[t] = false // of a type that holds itself
	found := false
	switch {
	case t.Implements(reflect.TypeFor[streamed]()):
		found = true
	case t.Kind() == reflect.Struct:
		for f := range t.Fields() {
			found = found || f.Tag.Get(freeTag) != "" || s.isOpen(f.Type)
		}
	case t.Kind() == reflect.Pointer, t.Kind() == reflect.Slice, t.Kind() == reflect.Array, t.Kind() == reflect.Map:
		found = s.isOpen(t.Elem())
	}
	s.open[t] = found
	return found
}

func (s shapes) layoutOf(t reflect.Type) *layout {
	l := s.layouts[t]
	if l == nil {
		l = &layout{}
		l.add(t, nil)
		s.layouts[t] = l
	}
	return l
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
			}
			listed := strings.Split(options, ",")
			l.fields = append(l.fields, structField{name: name, index: index, omitEmpty: slices.Contains(listed, "omitempty"),
				omitZero: slices.Contains(listed, "omitzero")})
		}
	}
}

// openValue writes a value whose type is open.
func (d *document) openValue(v reflect.Value, newline string) error {
	if s, ok := v.Interface().(streamed); ok {
		if v.IsNil() {
			return d.value(nil, newline)
		}
		return d.array(s.elements(d.ctx), newline)
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return d.value(nil, newline)
		}
		return d.value(v.Elem().Interface(), newline)
	case reflect.Struct:
		return d.members(d.shapes.layoutOf(v.Type()).members(v), newline)
	case reflect.Map:
		return d.members(entries(v), newline)
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.IsNil() {
			return d.value(nil, newline)
		}
		return d.array(elements(v), newline)
	}
	return fmt.Errorf("%s is no part of a document", v.Type())
}

func elements(v reflect.Value) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		for i := range v.Len() {
			if !yield(v.Index(i).Interface(), nil) {
				return
			}
		}
	}
}

// members yields the members of a struct in the order in which they are written.
func (l *layout) members(v reflect.Value) iter.Seq2[string, any] {
	if len(l.free) > 0 {
		return l.sorted(v)
	}
	return func(yield func(string, any) bool) {
		for _, f := range l.fields {
			if value, ok := f.of(v); ok && !yield(f.name, value) {
				return
			}
		}
	}
}

// sorted yields the members of a struct with free ones by their names.
func (l *layout) sorted(v reflect.Value) iter.Seq2[string, any] {
	all := map[string]reflect.Value{}
	for _, f := range l.fields {
		if value, ok := f.value(v); ok {
			all[f.name] = value
		}
	}
	for _, index := range l.free {
		for name, value := range v.FieldByIndex(index).Seq2() {
			all[name.String()] = value
		}
	}
	return func(yield func(string, any) bool) {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if !yield(name, all[name].Interface()) {
				return
			}
		}
	}
}

func (f structField) of(v reflect.Value) (any, bool) {
	value, ok := f.value(v)
	if !ok {
		return nil, false
	}
	return value.Interface(), true
}

// value returns the field of a struct; false where it is omitted.
func (f structField) value(v reflect.Value) (reflect.Value, bool) {
	v = v.FieldByIndex(f.index)
	zero, hasMethod := v.Interface().(interface{ IsZero() bool })
	switch {
	case f.omitZero && hasMethod:
		return v, !zero.IsZero()
	case f.omitZero:
		return v, !v.IsZero()
	}
	return v, !f.omitEmpty || !isEmpty(v)
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

// entries yields the entries of a map with texts as keys by their names.
func entries(v reflect.Value) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			if !yield(key.String(), v.MapIndex(key).Interface()) {
				return
			}
		}
	}
}
