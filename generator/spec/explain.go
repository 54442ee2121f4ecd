package spec

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/internal/scalar"
	"bflow.dev/bflow/load"
	"bflow.dev/bflow/platform"
)

// Explanation says what a field of the format is.
type Explanation struct {
	Path     string       `json:"path"`
	Type     string       `json:"type"`
	Meaning  string       `json:"meaning"`
	Default  string       `json:"default,omitempty"` // filled in by the loader, or resolved later
	Unit     string       `json:"unit,omitempty"`
	Range    string       `json:"range,omitempty"`
	Values   []string     `json:"values,omitempty"`
	Aliases  []string     `json:"aliases,omitempty"`
	Required bool         `json:"required,omitempty"`
	Axis     bool         `json:"axis,omitempty"` // a list makes a matrix axis
	Fields   []FieldBrief `json:"fields,omitempty"`
}

// FieldBrief is one line about a field below.
type FieldBrief struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Meaning string `json:"meaning"`
}

// Explain explains a field: kind in lower case, then the path in the file, as experiment.spec.load.stages. Indexes
// may be left out. An unknown path is an error with a hint.
func Explain(path string) (Explanation, error) {
	p, err := ParsePath(path)
	if err != nil {
		return Explanation{}, err
	}
	c := newCodec(nil)
	root, err := kindOf(p[0].Key)
	if err != nil {
		return Explanation{}, fmt.Errorf("explaining %q: %w", path, err)
	}
	f := &field{name: p[0].Key, doc: "document of kind " + root.Name(), typ: root}
	t := root
	for i, seg := range p[1:] {
		next, typ := c.step(t, f, seg)
		if next == nil {
			return Explanation{}, fmt.Errorf("explaining %q: %s: %s", path, p[:i+2], problem.UnknownField(seg.Key, c.below(t)))
		}
		f, t = next, typ
	}
	return c.explanation(path, f, t), nil
}

func kindOf(word string) (reflect.Type, error) {
	var known []string
	for _, d := range documents() {
		if strings.EqualFold(d.kind, word) {
			return d.typ, nil
		}
		known = append(known, strings.ToLower(d.kind))
	}
	return nil, fmt.Errorf("unknown kind %q, want one of %s", word, strings.Join(known, ", "))
}

// step goes from a field of type t one key down. Lists are passed through; the key of a map is free.
func (c *codec) step(t reflect.Type, f *field, seg Seg) (*field, reflect.Type) {
	t = element(t)
	switch {
	case seg.Key == "":
		return f, t
	case t.Kind() == reflect.Map:
		one := *f
		one.typ, one.name = t.Elem(), seg.Key
		one.def, one.req = "", false
		return &one, t.Elem()
	}
	if tab := c.tables[t]; tab != nil && tab.byName[seg.Key] != nil {
		next := tab.byName[seg.Key]
		return next, next.typ
	}
	return nil, nil
}

// element takes pointers, Replace and lists off a type.
func element(t reflect.Type) reflect.Type {
	for t = bare(t); t.Kind() == reflect.Slice; t = bare(t.Elem()) {
	}
	return t
}

// below are the names of the fields of t.
func (c *codec) below(t reflect.Type) []string {
	if tab := c.tables[element(t)]; tab != nil {
		return tab.names()
	}
	return nil
}

func (c *codec) explanation(path string, f *field, t reflect.Type) Explanation {
	e := Explanation{
		Path: path, Type: c.fieldType(f, t), Meaning: f.doc, Default: f.def, Unit: f.unit, Values: f.enum,
		Aliases: f.aliases, Required: f.req, Axis: isAxis(t), Range: f.span(),
	}
	if e.Default == "" {
		e.Default = f.implied
	}
	if e.Unit == "" && bare(t) == reflect.TypeFor[time.Duration]() {
		e.Unit = "duration: h, m, s, ms"
	}
	if tab := c.tables[element(t)]; tab != nil {
		for _, sub := range tab.fields {
			e.Fields = append(e.Fields, FieldBrief{Name: sub.name, Type: c.fieldType(sub, sub.typ), Meaning: sub.doc})
		}
	}
	if t == reflect.TypeFor[[]AxisDecl]() {
		e.Fields = nil
	}
	return e
}

// span is the range of numbers, or the shape of text, that the field takes.
func (f *field) span() string {
	var parts []string
	if f.Min != nil {
		parts = append(parts, "at least "+scalar.Plain(*f.Min))
	}
	if f.Above != nil {
		parts = append(parts, "above "+scalar.Plain(*f.Above))
	}
	if f.Max != nil {
		parts = append(parts, "at most "+scalar.Plain(*f.Max))
	}
	if f.is != "" {
		parts = append(parts, rules()[f.is].want)
	}
	return strings.Join(parts, ", ")
}

// fieldType is the type of a field, with a reference where it takes one.
func (c *codec) fieldType(f *field, t reflect.Type) string {
	if f.secret {
		return c.typeName(t) + " or secretKeyRef"
	}
	return c.typeName(t)
}

// typeName is the type as the format's documentation calls it.
func (c *codec) typeName(t reflect.Type) string {
	t = bare(t)
	switch t {
	case reflect.TypeFor[time.Duration]():
		return "duration"
	case reflect.TypeFor[load.Object]():
		return "free object"
	case reflect.TypeFor[load.Count]():
		return "integer or N*concurrency"
	case reflect.TypeFor[load.Skip]():
		return "number, duration or {percent, value, mode}"
	case reflect.TypeFor[platform.Probe]():
		return "Kubernetes Probe fields or false"
	case reflect.TypeFor[load.Length]():
		return "integer or {mean, stdev, min, max, shape}"
	case reflect.TypeFor[load.Ramp]():
		return "duration or {over, from, shape, steps}"
	case reflect.TypeFor[ClusterAt](), reflect.TypeFor[load.Adapter]():
		return "name or object"
	case reflect.TypeFor[[]AxisDecl]():
		return "map path to list of values"
	case reflect.TypeFor[PartialPoint]():
		return "map path to value"
	}
	if t.PkgPath() == reflect.TypeFor[corev1.Affinity]().PkgPath() && t.Kind() == reflect.Struct {
		return "Kubernetes " + t.Name()
	}
	return c.shapeName(t)
}

func (c *codec) shapeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		elem := c.typeName(t.Elem())
		if isAxis(t) || t.Implements(reflect.TypeFor[listType]()) {
			return elem + " or list of " + elem
		}
		return "list of " + elem
	case reflect.Map:
		return "map text to " + c.typeName(t.Elem())
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "boolean"
	case reflect.Float64:
		return "number"
	case reflect.Struct:
		return "object"
	}
	return "integer"
}
