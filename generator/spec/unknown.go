package spec

import (
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/problem"
)

// unknown reports a key that the table lacks; --lenient makes it a warning.
func (d *decoder) unknown(tab *table, key *yaml.Node) {
	if t, ok := tab.prototype.Interface().(interface{ FieldHints() map[string]string }); ok {
		if hint := t.FieldHints()[key.Value]; hint != "" {
			d.report(key, "%s", hint)
			return
		}
	}
	text := problem.UnknownFieldNear(key.Value, d.hint(tab, key.Value))
	if d.doc.lenient {
		d.addWarning(key, "%s; ignored", text)
		return
	}
	d.report(key, "%s", text)
}

// hint is what a person may have meant: a field in another convention (ttlSecondsAfterFinished), with a typo, or at
// the one other place of the document that has it.
func (d *decoder) hint(tab *table, key string) string {
	for _, f := range tab.fields {
		if flatten(f.name) == flatten(key) {
			return f.name
		}
	}
	if near := problem.Closest(key, tab.names(), 1); len(near) > 0 {
		return near[0]
	}
	if elsewhere := d.codec.elsewhere(d.root, key); len(elsewhere) == 1 {
		return elsewhere[0]
	}
	return ""
}

func flatten(key string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(key))
}

// elsewhere finds fields of a name below document type t, through structs and lists of ours.
func (c *codec) elsewhere(t reflect.Type, name string) (paths []string) {
	if t == nil {
		return nil
	}
	tab := c.tables[element(t)]
	if tab == nil || kubernetes(tab.typ) {
		return nil
	}
	for _, f := range tab.fields {
		if f.name == name || slices.Contains(f.aliases, name) {
			paths = append(paths, f.name)
		}
		at := f.name
		if bare(f.typ).Kind() == reflect.Slice {
			at += "[0]"
		}
		for _, below := range c.elsewhere(f.typ, name) {
			paths = append(paths, at+"."+below)
		}
	}
	return paths
}
