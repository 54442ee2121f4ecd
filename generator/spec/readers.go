package spec

import (
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"bflow.dev/bflow/internal/scalar"
	"bflow.dev/bflow/load"
	"bflow.dev/bflow/platform"
)

// reader puts the value of n, which is not null, into v. f holds the rules of the field; inside a list or a map it is
// the field of the whole.
type reader func(d *decoder, n *yaml.Node, v reflect.Value, f *field)

// Generic types of the format say what they are.
type (
	axisType    interface{ isAxis() }
	listType    interface{ OneOrMany() }
	replaceType interface{ isReplace() }
	shortType   interface{ Shorthand() string } // the field that a bare scalar sets
)

func (Axis[T]) isAxis()       {}
func (Replace[T]) isReplace() {}

// reader returns the reader of t, building it at first sight.
func (c *codec) reader(t reflect.Type) reader {
	if known, ok := c.readers[t]; ok {
		return known
	}
	r := c.special(t)
	if r == nil {
		r = c.generic(t)
	}
	c.readers[t] = r
	return r
}

// special returns the reader of a type that is not read by its Go shape, nil for others.
func (c *codec) special(t reflect.Type) reader {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return (*decoder).duration
	case reflect.TypeFor[load.Object]():
		return (*decoder).object
	case reflect.TypeFor[load.Count]():
		return (*decoder).count
	case reflect.TypeFor[load.Skip]():
		c.table(reflect.TypeFor[load.SkipForm]())
		return (*decoder).skip
	case reflect.TypeFor[platform.Probe]():
		return c.probe()
	case reflect.TypeFor[[]AxisDecl]():
		return (*decoder).axes
	case reflect.TypeFor[PartialPoint]():
		return (*decoder).partialPoint
	case reflect.TypeFor[intstr.IntOrString]():
		return (*decoder).intOrString
	case reflect.TypeFor[resource.Quantity]():
		return (*decoder).quantity
	}
	return nil
}

func (c *codec) generic(t reflect.Type) reader {
	switch t.Kind() {
	case reflect.Pointer:
		return pointer(t, c.reader(t.Elem()))
	case reflect.Slice:
		_, axis := reflect.Zero(t).Interface().(axisType)
		_, list := reflect.Zero(t).Interface().(listType)
		if axis || list {
			return oneOrMany(c.items(t, c.reader(t.Elem())), axis)
		}
		return c.items(t, c.reader(t.Elem()))
	case reflect.Map:
		return entries(t, c.reader(t.Elem()))
	case reflect.Struct:
		return c.structReader(t)
	}
	return scalarReader(t.Kind())
}

func scalarReader(k reflect.Kind) reader {
	switch k {
	case reflect.String:
		return (*decoder).text
	case reflect.Bool:
		return (*decoder).boolean
	case reflect.Float64:
		return (*decoder).float
	}
	return (*decoder).integer
}

func (c *codec) structReader(t reflect.Type) reader {
	if _, ok := reflect.Zero(t).Interface().(replaceType); ok {
		read := c.reader(t.Field(1).Type)
		return func(d *decoder, n *yaml.Node, v reflect.Value, f *field) {
			v.Field(0).SetBool(true)
			read(d, n, v.Field(1), f)
		}
	}
	tab := c.table(t)
	read := c.structure(tab)
	if short, ok := reflect.Zero(t).Interface().(shortType); ok {
		return func(d *decoder, n *yaml.Node, v reflect.Value, f *field) {
			if n.Kind == yaml.ScalarNode {
				v.Set(tab.prototype)
				d.short(n, v, tab.byName[short.Shorthand()])
				return
			}
			read(d, n, v, f)
		}
	}
	return read
}

// short reads a scalar that stands for a struct: f is the field that it sets.
func (d *decoder) short(n *yaml.Node, v reflect.Value, f *field) {
	if _, err := scalar.Whole(n); err != nil && f.bare == "integer" {
		d.wrong(n, err)
		return
	}
	f.read(d, n, v.FieldByIndex(f.index), f)
}

// blankIsNull reports whether blanks say nothing where a value of type t may stand. They are a text.
func (c *codec) blankIsNull(t reflect.Type) bool {
	t = bare(t)
	if short, ok := reflect.Zero(t).Interface().(shortType); ok {
		return c.blankIsNull(c.table(t).byName[short.Shorthand()].typ)
	}
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64, reflect.Float64:
		return true
	}
	return t == reflect.TypeFor[load.Count]() || t == reflect.TypeFor[load.Skip]()
}

func pointer(t reflect.Type, elem reader) reader {
	return func(d *decoder, n *yaml.Node, v reflect.Value, f *field) {
		p := reflect.New(t.Elem())
		elem(d, n, p.Elem(), f)
		v.Set(p)
	}
}

// items reads a list. Blank entries of string lists are dropped, other blank entries are wrong.
func (c *codec) items(t reflect.Type, elem reader) reader {
	isText, blank := t.Elem().Kind() == reflect.String, c.blankIsNull(t.Elem())
	return func(d *decoder, n *yaml.Node, v reflect.Value, f *field) {
		if n.Kind != yaml.SequenceNode {
			d.wrong(n, scalar.Want("a list", n))
			return
		}
		out := reflect.MakeSlice(t, 0, len(n.Content))
		for i, item := range n.Content {
			if isText && scalar.Blank(item) {
				continue
			}
			d.path = append(d.path, Seg{Index: i})
			if scalar.Null(item) || scalar.Blank(item) && blank {
				d.report(item, "entry is empty")
			} else {
				out = reflect.Append(out, reflect.Zero(t.Elem()))
				elem(d, item, out.Index(out.Len()-1), f)
			}
			d.path = d.path[:len(d.path)-1]
		}
		v.Set(out)
	}
}

// oneOrMany reads a value or a list of them. An axis must not be empty, nor hold a value twice, nor be in
// model_overrides, which is applied when a point has one value each, nor in a value of another axis.
func oneOrMany(many reader, axis bool) reader {
	return func(d *decoder, n *yaml.Node, v reflect.Value, f *field) {
		if scalar.Blank(n) {
			if f.req {
				d.report(n, "required field is empty")
			}
			return
		}
		if n.Kind != yaml.SequenceNode {
			one := yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{n}}
			from := len(d.found)
			many(d, &one, v, f)
			d.dropIndex(from)
			return
		}
		if axis && len(d.path) > 1 && d.path[1].Key == "model_overrides" {
			d.report(n, "want one value, found a list: a model's overrides apply to one point")
			return
		}
		if axis && len(d.path) > 1 && d.path[1].Key == "matrix" {
			d.report(n, "want one value, found a list: an axis cannot contain another; make it a separate axis")
			return
		}
		many(d, n, v, f)
		if v.Len() == 0 {
			d.wrong(n, scalar.WantValues())
		}
		if axis {
			d.duplicates(n)
		}
	}
}

// dropIndex takes the [0] off the paths of problems that a value read as a list of one has.
func (d *decoder) dropIndex(from int) {
	at := d.path.String()
	for i := range d.found[from:] {
		p := &d.found[from+i]
		p.Path = at + strings.TrimPrefix(p.Path, at+"[0]")
	}
}

func (d *decoder) duplicates(list *yaml.Node) {
	first := make(map[string]*yaml.Node, len(list.Content))
	for i, n := range list.Content {
		if n.Kind != yaml.ScalarNode || scalar.Null(n) {
			continue
		}
		text := strings.TrimSpace(n.Value)
		if f, ok := first[text]; ok {
			d.in(Seg{Index: i}, func() {
				d.report(n, "duplicate entry %q, first at %s:%d:%d", text, d.doc.File, f.Line, f.Column)
			})
			continue
		}
		first[text] = n
	}
}

// entries reads a mapping with free keys. A key with nothing after it is not set.
func entries(t reflect.Type, elem reader) reader {
	return func(d *decoder, n *yaml.Node, v reflect.Value, f *field) {
		if n.Kind != yaml.MappingNode {
			err := scalar.WantMapping(n)
			if f.secret {
				err = scalar.WantMappingUnseen(n)
			}
			d.wrong(n, err)
			return
		}
		if len(n.Content)/2 > f.maxItems {
			d.report(n, "want at most %d entries, found %d", f.maxItems, len(n.Content)/2)
		}
		out := reflect.MakeMapWithSize(t, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			d.path = append(d.path, Seg{Key: key.Value})
			d.rule(key, key.Value, f.keys)
			if !scalar.Null(value) {
				e := reflect.New(t.Elem()).Elem()
				elem(d, value, e, f)
				out.SetMapIndex(reflect.ValueOf(key.Value).Convert(t.Key()), e)
			}
			d.path = d.path[:len(d.path)-1]
		}
		v.Set(out)
	}
}
