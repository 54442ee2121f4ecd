package tools

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// needTag marks a member that a reader needs with "yes". Structs that are also written hold many members that no reader
// looks at, and for which other releases of a tool may have another type: in a struct with marks, a member without one
// is left empty where it does not fit. "no" takes the marks away from all that a member holds.
const needTag = "need"

// decodeNeeded returns the error of the needed members of v alone; failed where v has no marks.
func decodeNeeded(data []byte, v any, failed error) error {
	t, marked := needed(reflect.TypeOf(v).Elem())
	if !marked {
		return failed
	}
	return json.Unmarshal(data, reflect.New(t).Interface())
}

// needed returns a type of the needed members of a type alone; false where none is marked.
func needed(t reflect.Type) (reflect.Type, bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		inner, ok := needed(t.Elem())
		if t.Kind() == reflect.Pointer {
			return reflect.PointerTo(inner), ok
		}
		return reflect.SliceOf(inner), ok
	case reflect.Map:
		inner, ok := needed(t.Elem())
		return reflect.MapOf(t.Key(), inner), ok
	case reflect.Struct:
		fields := neededFields(t)
		return reflect.StructOf(fields), len(fields) > 0
	}
	return t, false
}

func neededFields(t reflect.Type) (fields []reflect.StructField) {
	for f := range t.Fields() {
		mark := f.Tag.Get(needTag)
		if !f.IsExported() && !f.Anonymous || mark == "no" {
			continue
		}
		inner, marked := needed(f.Type)
		switch {
		case mark == "yes":
			fields = append(fields, reflect.StructField{Name: f.Name, Type: f.Type, Tag: f.Tag})
		case !marked:
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			fields = append(fields, neededFields(f.Type)...)
		default:
			fields = append(fields, reflect.StructField{Name: f.Name, Type: inner, Tag: f.Tag})
		}
	}
	return fields
}

// DecodeFree returns the members of a document that v, a struct, has no field for.
func DecodeFree(doc Document, v any) (Free, error) {
	var all Free
	if err := Decode(doc, &all); err != nil {
		return nil, err
	}
	var l layout
	l.add(reflect.TypeOf(v), nil)
	for name := range all {
		known := slices.ContainsFunc(l.fields, func(f structField) bool { return strings.EqualFold(f.name, name) })
		if known {
			delete(all, name)
		}
	}
	return all, nil
}
