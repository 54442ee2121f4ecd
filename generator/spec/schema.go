package spec

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"bflow.dev/bflow/load"
	"bflow.dev/bflow/platform"
)

// object is a JSON object; encoding/json writes its keys sorted.
type object = map[string]any

// schema builds a JSON Schema from the types of the format.
type schema struct {
	codec *codec
	defs  object
}

// Schema returns the JSON Schema (draft 2020-12) of the hand-written kinds, generated from their types. It says what a
// single field may hold; rules across fields, and text that only the loader can judge, are the loader's.
func Schema() ([]byte, error) {
	s := schema{codec: newCodec(nil), defs: object{}}
	kinds := []string{}
	cases := []any{}
	for _, d := range documents() {
		if _, has := d.typ.FieldByName("APIVersion"); has {
			kinds = append(kinds, d.kind)
			cases = append(cases, object{
				"if":   object{"properties": object{"kind": object{"const": d.kind}}},
				"then": s.structure(d.typ),
			})
		}
	}
	return json.MarshalIndent(object{
		"$schema":  "https://json-schema.org/draft/2020-12/schema",
		"title":    "Experiments and their profiles, " + APIVersion,
		"type":     "object",
		"required": []string{"kind", "metadata", "spec"},
		"properties": object{"kind": object{"enum": kinds},
			"apiVersion": object{"enum": []any{APIVersion, APIVersionAlias, nil}}},
		"allOf": cases,
		"$defs": s.defs,
	}, "", "  ")
}

// structure returns a reference to the definition of struct type t.
func (s *schema) structure(t reflect.Type) object {
	name := s.codec.tables[t].name
	ref := object{"$ref": "#/$defs/" + name}
	if _, known := s.defs[name]; known {
		return ref
	}
	def := object{"type": "object", "additionalProperties": false}
	s.defs[name] = def
	properties := object{}
	required := []any{}
	for _, f := range s.codec.tables[t].fields {
		value := s.field(f)
		for _, name := range append([]string{f.name}, f.aliases...) {
			properties[name] = value
		}
		if f.req {
			required = append(required, needs(f))
		}
	}
	def["properties"] = properties
	if len(required) > 0 {
		def["allOf"] = required
	}
	if short, ok := reflect.Zero(t).Interface().(shortType); ok {
		one := s.codec.tables[t].byName[short.Shorthand()]
		value := s.value(one.typ, one)
		if one.bare == "integer" {
			value = one.bounded(object{"type": "integer"}, integerText)
		}
		s.defs[name] = object{"anyOf": []any{def, value}}
	}
	return ref
}

// needs says that f must be there under one of its names.
func needs(f *field) object {
	var any []any
	for _, name := range append([]string{f.name}, f.aliases...) {
		any = append(any, object{"required": []string{name}})
	}
	return object{"anyOf": any}
}

// field is the schema of a key's value: nothing after a key that is not required means not set.
func (s *schema) field(f *field) object {
	value := s.value(f.typ, f)
	if !f.req {
		value = object{"anyOf": []any{value, object{"enum": s.unset(f.typ)}}}
	}
	value["description"] = f.doc
	if f.def != "" {
		value["default"] = f.def
	}
	return value
}

// unset are the values that say nothing.
func (s *schema) unset(t reflect.Type) []any {
	if t.Kind() == reflect.String || isAxis(t) || s.codec.blankIsNull(t) {
		return []any{nil, ""}
	}
	return []any{nil}
}

// integerText is an integer in quotes.
const integerText = `^\s*[-+]?(0x)?[0-9a-fA-F_]+\s*$`

// value is the schema of type t under the rules of f.
func (s *schema) value(t reflect.Type, f *field) object {
	t = bare(t)
	if special := s.special(t, f); special != nil {
		return special
	}
	switch t.Kind() {
	case reflect.Slice:
		return s.list(t, f)
	case reflect.Map:
		return s.mapping(t, f)
	case reflect.Struct:
		return s.structure(t)
	case reflect.String:
		return s.text(f)
	case reflect.Bool:
		word := anyCase(`^\s*(true|false|yes|no|on|off|1|0)\s*$`)
		return object{"anyOf": []any{object{"type": "boolean"}, object{"enum": []int{0, 1}},
			object{"type": "string", "pattern": word}}}
	case reflect.Float64:
		return f.bounded(object{"type": "number"}, `^\s*[-+]?[0-9.]+([eE][-+]?[0-9]+)?\s*$`)
	}
	return f.bounded(object{"type": "integer"}, integerText)
}

// special is the schema of types that are not read by their Go shape.
func (s *schema) special(t reflect.Type, f *field) object {
	const duration = `^\s*([0-9]+(\.[0-9]*)?(h|ms|m|s))+\s*$`
	textOrNumber := object{"type": []string{"string", "number"}}
	switch t {
	case reflect.TypeFor[time.Duration]():
		if f.bare == "s" {
			return object{"anyOf": []any{object{"type": "string", "pattern": duration},
				object{"type": []string{"number", "string"}, "exclusiveMinimum": 0, "pattern": `^[0-9.]+$`}}}
		}
		if f.zero {
			return object{"type": "string", "pattern": duration}
		}
		return object{"type": "string", "pattern": duration, "not": object{"pattern": `^[0.hms\s]*$`}}
	case reflect.TypeFor[load.Object](), reflect.TypeFor[PartialPoint]():
		return object{"type": "object"}
	case reflect.TypeFor[platform.Probe]():
		return object{"anyOf": []any{s.structure(reflect.TypeFor[corev1.Probe]()),
			object{"enum": []any{false, "false", "no", "0", "off"}}}}
	case reflect.TypeFor[load.Count]():
		multiple := `^\s*[0-9]+\s*(\*\s*` + anyCase("concurrency") + `)?\s*$`
		return object{"type": []string{"integer", "string"}, "minimum": 1, "pattern": multiple}
	case reflect.TypeFor[load.Skip]():
		return object{"anyOf": []any{s.structure(reflect.TypeFor[load.SkipForm]()), object{"type": "number", "minimum": 0},
			object{"type": "string", "pattern": `^[0-9.]+|` + duration}}}
	case reflect.TypeFor[[]AxisDecl]():
		return object{"type": "object", "additionalProperties": object{"type": "array", "minItems": 1, "maxItems": maxItems}}
	case reflect.TypeFor[intstr.IntOrString](), reflect.TypeFor[resource.Quantity]():
		return textOrNumber
	}
	return nil
}

// anyCase is a pattern whose letters match in both cases. JSON Schema has no flag for that.
func anyCase(pattern string) string {
	var b strings.Builder
	for i, r := range pattern {
		if unicode.IsLetter(r) && (i == 0 || pattern[i-1] != '\\') {
			fmt.Fprintf(&b, "[%c%c]", r, unicode.ToUpper(r))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// list allows empty entries in lists of text: they are dropped.
func (s *schema) list(t reflect.Type, f *field) object {
	item := s.value(t.Elem(), f)
	entry := item
	if t.Elem().Kind() == reflect.String {
		entry = object{"anyOf": []any{item, object{"enum": []any{nil, ""}}}}
	}
	list := object{"type": "array", "items": entry, "maxItems": maxItems}
	if isAxis(t) {
		list["uniqueItems"] = true
	}
	if isAxis(t) || t.Implements(reflect.TypeFor[listType]()) {
		list["minItems"] = 1
		return object{"anyOf": []any{item, list}}
	}
	return list
}

func (s *schema) mapping(t reflect.Type, f *field) object {
	out := object{
		"type": "object", "maxProperties": f.maxItems,
		"additionalProperties": object{"anyOf": []any{s.value(t.Elem(), f), object{"type": "null"}}},
	}
	if p := s.codec.rules[f.keys].pattern; p != "" {
		out["propertyNames"] = object{"pattern": p}
	}
	return out
}

// text takes numbers and booleans too: a field keeps the source text of any scalar.
func (s *schema) text(f *field) object {
	if len(f.enum) > 0 {
		words := append([]string{}, f.enum...)
		for spelling := range f.words {
			words = append(words, spelling)
		}
		slices.Sort(words)
		return object{"enum": words}
	}
	out := object{"type": []string{"string", "number", "boolean"}}
	if p := s.codec.rules[f.is].pattern; p != "" {
		out["pattern"] = p
	}
	if f.req {
		out["minLength"] = 1
	}
	if f.secret {
		return object{"anyOf": []any{out, s.structure(reflect.TypeFor[valueFrom]())}}
	}
	return out
}

// bounded is a number within the field's range, or its text in quotes.
func (f *field) bounded(number object, text string) object {
	if f.Min != nil {
		number["minimum"] = *f.Min
	}
	if f.Max != nil {
		number["maximum"] = *f.Max
	}
	if f.Above != nil {
		number["exclusiveMinimum"] = *f.Above
	}
	return object{"anyOf": []any{number, object{"type": "string", "pattern": text}}}
}
