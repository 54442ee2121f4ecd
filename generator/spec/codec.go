package spec

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/scalar"
	"bflow.dev/bflow/load/tool/registry"
	"bflow.dev/bflow/platform"
)

// codec knows every type of the format: its fields by name, and how a value of it is read. It is built once per
// Load and does not change afterwards, so that many goroutines may decode with it.
type codec struct {
	tables    map[reflect.Type]*table
	readers   map[reflect.Type]reader
	rules     map[string]rule
	platforms platform.Registry
	tools     registry.Tools
}

// table is a struct of the format.
type table struct {
	name      string // of its definition in the schema
	typ       reflect.Type
	fields    []*field
	byName    map[string]*field // aliases too
	prototype reflect.Value     // holds every default
}

// field is a key of the format; its tags are explained in the package documentation.
type field struct {
	name, doc, unit string
	def, implied    string
	aliases, enum   []string
	words           map[string]string // further spellings of enum values
	instead         map[string]string // words that one may take for enum values: what to do
	scalar.Range
	is, keys             string // rules of the value and of the keys
	req, zero, nullClear bool
	bare                 string // what a bare number is: see the package documentation
	blankIsNull          bool   // blanks say nothing, as null
	exact                bool   // its words are Kubernetes', which knows no other case
	secret               bool   // it takes a reference to a value of a Secret
	maxItems             int
	place                int // among the fields of its struct
	index                []int
	typ                  reflect.Type
	read                 reader
}

// newCodec makes one for the platforms that profiles may name, nil for all.
func newCodec(platforms platform.Registry) *codec { return newCodecOf(platforms, registry.All()) }

func newCodecOf(platforms platform.Registry, tools registry.Tools) *codec {
	c := &codec{
		tables: map[reflect.Type]*table{}, readers: map[reflect.Type]reader{}, rules: rules(),
		platforms: platforms.OrAll(), tools: tools,
	}
	for _, d := range documents() {
		c.table(d.typ)
	}
	c.reader(reflect.TypeFor[valueFrom]())
	return c
}

// document pairs a kind with its type. The report-metrics file has no kind.
type document struct {
	kind string
	typ  reflect.Type
}

func documents() []document {
	return []document{
		{KindExperiment, reflect.TypeFor[Experiment]()},
		{KindDeployment, reflect.TypeFor[DeploymentProfile]()},
		{KindBenchmark, reflect.TypeFor[BenchmarkProfile]()},
		{KindMetrics, reflect.TypeFor[MetricsProfile]()},
		{"ReportMetrics", reflect.TypeFor[ReportMetrics]()},
	}
}

// table returns the table of struct type t, building it at first sight.
func (c *codec) table(t reflect.Type) *table {
	if known, ok := c.tables[t]; ok {
		return known
	}
	tab := &table{name: t.Name(), typ: t, byName: map[string]*field{}, prototype: reflect.New(t).Elem()}
	c.tables[t] = tab
	c.addFields(tab, t, nil)
	return tab
}

// addFields adds the fields of t; embedded structs without a name of their own count as part of it.
func (c *codec) addFields(tab *table, t reflect.Type, index []int) {
	for i := range t.NumField() {
		sf := t.Field(i)
		at := append(slices.Clone(index), i)
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		switch {
		case sf.Type == reflect.TypeFor[platform.Own]():
			c.addOwn(tab, at)
		case sf.Type == reflect.TypeFor[ToolBlocks]():
			c.addTools(tab, at)
		case name == "-" || !sf.IsExported():
		case name == "" && sf.Anonymous:
			c.addFields(tab, sf.Type, at)
		default:
			c.addField(tab, sf, name, at)
		}
	}
}

func (c *codec) addField(tab *table, sf reflect.StructField, name string, index []int) {
	f := newField(sf, name, index)
	switch sf.Tag.Get("enumof") {
	case "tools":
		f.enum = c.tools.Names()
	case "platforms":
		f.enum = c.platforms.Names()
	}
	f.read, f.place = c.reader(sf.Type), len(tab.fields)
	f.blankIsNull = c.blankIsNull(sf.Type)
	if words := kubernetesWords(sf.Type); words != nil {
		f.enum, f.exact = words, true
	}
	f.req = f.req || kubernetesRequired(tab.typ, sf.Tag.Get("json"))
	tab.add(f)
	slot := tab.prototype.FieldByIndex(index)
	if f.def != "" {
		f.read(&decoder{codec: c}, &yaml.Node{Kind: yaml.ScalarNode, Tag: scalar.PlainTag(f.def), Value: f.def}, slot, f)
	} else if sub := c.tables[sf.Type]; sub != nil {
		slot.Set(sub.prototype)
	}
}

// addOwn adds the blocks that platforms have of their own. They are kept in a map, by the name of the platform.
func (c *codec) addOwn(tab *table, index []int) {
	for _, p := range c.platforms {
		if p.Own == nil {
			continue
		}
		t := reflect.TypeOf(p.Own)
		read := c.reader(t)
		f := &field{
			name: p.Name, doc: "fields of platform " + p.Name, maxItems: maxItems, place: len(tab.fields), index: index, typ: t,
		}
		f.read = func(d *decoder, n *yaml.Node, v reflect.Value, f *field) {
			own := reflect.New(t).Elem()
			read(d, n, own, f)
			if v.IsNil() {
				v.Set(reflect.MakeMap(v.Type()))
			}
			v.SetMapIndex(reflect.ValueOf(p.Name), own)
		}
		tab.add(f)
	}
}

func (t *table) add(f *field) {
	t.fields = append(t.fields, f)
	for _, key := range append([]string{f.name}, f.aliases...) {
		t.byName[key] = f
	}
}

func newField(sf reflect.StructField, name string, index []int) *field {
	get := sf.Tag.Get
	f := &field{
		name: name, doc: get("doc"), unit: get("unit"), def: get("default"), implied: get("implied"),
		aliases: split(get("alias")), enum: split(get("enum")), words: pairs(get("words")), instead: pairs(get("instead")),
		Range: scalar.Range{Min: number(get("min")), Max: number(get("max")), Above: number(get("above"))},
		is:    get("is"), keys: get("keys"), req: get("req") != "", zero: get("zero") != "",
		nullClear: get("null") == "clears", bare: get("bare"), maxItems: maxItems, index: index, typ: sf.Type,
	}
	f.secret = get("secret") != ""
	if n := number(get("maxitems")); n != nil {
		f.maxItems = int(*n)
	}
	return f
}

// pairs reads "a=b|c=d".
func pairs(tag string) map[string]string {
	out := map[string]string{}
	for _, pair := range split(tag) {
		key, value, _ := strings.Cut(pair, "=")
		out[key] = value
	}
	return out
}

func split(tag string) []string {
	if tag == "" {
		return nil
	}
	return strings.Split(tag, "|")
}

func number(tag string) *float64 {
	if v, err := strconv.ParseFloat(tag, 64); err == nil {
		return &v
	}
	return nil
}

// names are the fields' names as one would suggest them.
func (t *table) names() []string {
	out := make([]string, 0, len(t.byName))
	for _, f := range t.fields {
		out = append(append(out, f.name), f.aliases...)
	}
	return out
}
