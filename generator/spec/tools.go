package spec

import (
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/load"
	"bflow.dev/bflow/load/tool"
)

// ToolBlocks are the blocks of a profile in the words of load tools, by tool.
type ToolBlocks map[string]load.Object

// addTools adds a field for each load tool to the table of a profile; index is where the profile keeps their blocks.
func (c *codec) addTools(tab *table, index []int) {
	for _, t := range c.tools {
		d := t.Definition()
		key, inner, _ := strings.Cut(d.Key, ".")
		typ := reflect.TypeFor[load.Object]()
		if inner != "" {
			typ = reflect.StructOf([]reflect.StructField{optional("Inner", inner, d.InnerDoc, typ)})
			c.table(typ).name = titleOf(key)
		}
		f := newField(optional("Block", key, d.Doc, typ), key, index)
		f.read, f.place = intoBlocks(d, typ, c.reader(typ)), len(tab.fields)
		tab.add(f)
	}
}

// optional is a field of a struct that a file may leave out.
func optional(name, key, doc string, typ reflect.Type) reflect.StructField {
	tag := reflect.StructTag(`json:` + strconv.Quote(key+",omitzero") + ` doc:` + strconv.Quote(doc))
	return reflect.StructField{Name: name, Type: typ, Tag: tag}
}

// titleOf is a key as the name of a type: InferencePerf of inference_perf.
func titleOf(key string) string {
	var title strings.Builder
	for word := range strings.SplitSeq(key, "_") {
		title.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return title.String()
}

// intoBlocks reads the block of a tool, whose type is an Object or a struct around one, into ToolBlocks.
func intoBlocks(of tool.Definition, typ reflect.Type, read reader) reader {
	return func(d *decoder, n *yaml.Node, v reflect.Value, f *field) {
		value := reflect.New(typ).Elem()
		read(d, n, value, f)
		if typ.Kind() == reflect.Struct && typ != reflect.TypeFor[load.Object]() {
			value = value.Field(0)
		}
		block, _ := value.Interface().(load.Object)
		if block.IsZero() {
			return
		}
		if v.IsNil() {
			v.Set(reflect.ValueOf(ToolBlocks{}))
		}
		v.SetMapIndex(reflect.ValueOf(of.Name), reflect.ValueOf(block))
	}
}
