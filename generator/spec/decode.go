package spec

import (
	"reflect"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/credential"
	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/internal/scalar"
)

// decoder reads one document. It goes on after a problem, so that all of them are found at once.
type decoder struct {
	codec *codec
	doc   *Doc
	root  reflect.Type // of the document
	path  Path         // where it is
	found problem.List
}

// report adds a problem at n, here.
func (d *decoder) report(n *yaml.Node, format string, args ...any) {
	if d.doc == nil { // a default: tests read them all
		panic("spec: bad default tag at " + d.path.String())
	}
	d.found.Add(d.doc.at(n, d.path, format, args...))
}

// in runs read one step further down the path.
func (d *decoder) in(seg Seg, read func()) {
	d.path = append(d.path, seg)
	read()
	d.path = d.path[:len(d.path)-1]
}

// structure returns a reader of mappings with the fields of tab.
func (c *codec) structure(tab *table) reader {
	return func(d *decoder, n *yaml.Node, v reflect.Value, _ *field) {
		v.Set(tab.prototype)
		if n.Kind != yaml.MappingNode {
			err := scalar.WantMapping(n)
			if tab.typ == reflect.TypeFor[secretSource]() || len(d.path) > 0 && credential.Name(d.path[len(d.path)-1].Key) {
				err = scalar.WantMappingUnseen(n)
			}
			d.wrong(n, err)
			return
		}
		var seen [64][2]*yaml.Node // key and value by place of the field; the largest struct has fewer than 64
		for i := 0; i+1 < len(n.Content); i += 2 {
			d.entry(tab, n.Content[i], n.Content[i+1], v, seen[:])
		}
		for i, f := range tab.fields {
			if f.req && scalar.Null(seen[i][1]) {
				d.in(Seg{Key: f.name}, func() { d.report(n, "required field is missing") })
			}
		}
	}
}

// entry reads one key of a mapping. An alias is renamed in the tree, so that a path has one spelling from here on.
func (d *decoder) entry(tab *table, key, value *yaml.Node, v reflect.Value, seen [][2]*yaml.Node) {
	d.path = append(d.path, Seg{Key: key.Value})
	defer func() { d.path = d.path[:len(d.path)-1] }()
	f := tab.byName[key.Value]
	if f == nil {
		d.unknown(tab, key)
		return
	}
	if first := seen[f.place][0]; first != nil {
		d.report(key, "duplicate key %q, first in another spelling at %s:%d:%d", key.Value, d.doc.File, first.Line,
			first.Column)
		seen[f.place][1] = value
		return
	}
	if f.blankIsNull && scalar.Blank(value) {
		value = nil
	}
	seen[f.place] = [2]*yaml.Node{key, value}
	slot := v.FieldByIndex(f.index)
	switch {
	case !scalar.Null(value):
		f.read(d, value, slot, f)
	case f.nullClear:
		slot.FieldByName("Set").SetBool(true)
		d.addWarning(key, "null clears the values of lower precedence; write [] or {} instead")
	}
	if key.Value != f.name { // a plain write would race with other decoders of a shared tree
		key.Value = f.name
	}
}

func (d *decoder) addWarning(n *yaml.Node, format string, args ...any) {
	p := d.doc.at(n, d.path, format, args...)
	p.Warning = true
	d.found.Add(p)
}
