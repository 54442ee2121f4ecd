package spec

import (
	"reflect"
	"strconv"
	"strings"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/load"
	"bflow.dev/bflow/platform"
)

// resolve walks p from struct type t and rewrites its keys in first spellings. It returns the field that p ends in,
// and the type of the value there: nil inside a free object. text says why p does not exist.
func (c *codec) resolve(t reflect.Type, p Path) (f *field, typ reflect.Type, text string) {
	typ = t
	for i, seg := range p {
		typ = bare(typ)
		switch {
		case free(typ):
			return f, nil, ""
		case typ.Kind() == reflect.Struct && seg.Key != "":
			tab := c.tables[typ]
			if tab == nil || tab.byName[seg.Key] == nil {
				return nil, nil, c.noField(tab, seg.Key)
			}
			f = tab.byName[seg.Key]
			p[i].Key, typ = f.name, f.typ
		case typ.Kind() == reflect.Map && seg.Key != "":
			typ = typ.Elem()
		case typ.Kind() == reflect.Slice && seg.Key == "":
			typ = typ.Elem()
		case seg.Key == "":
			return nil, nil, p[:i].String() + " is not a list, so there is no index [" + strconv.Itoa(seg.Index) + "]"
		case typ.Kind() == reflect.Slice && strings.Trim(seg.Key, "0123456789") == "":
			return nil, nil, p[:i].String() + " is a list: want " + p[:i].String() + "[" + seg.Key + "]"
		default:
			return nil, nil, p[:i].String() + " has no field " + strconv.Quote(seg.Key)
		}
	}
	return f, typ, ""
}

func (c *codec) noField(tab *table, key string) string {
	if tab == nil {
		return problem.UnknownField(key, nil)
	}
	return problem.UnknownField(key, tab.names())
}

// bare takes pointers and Replace off a type.
func bare(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Implements(reflect.TypeFor[replaceType]()) {
		return bare(t.Field(1).Type)
	}
	return t
}

// free reports whether anything may stand below t.
func free(t reflect.Type) bool {
	return t == reflect.TypeFor[load.Object]() || t == reflect.TypeFor[platform.Probe]()
}
