package tool

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/internal/scalar"
)

// Fields reads a mapping by asking for its keys; Close reports the keys that nobody asked for. So the code that
// reads a block is the list of its words.
type Fields struct {
	At      Value // the mapping
	Entries []Entry
	asked   []string
	taken   map[string]bool
}

// Entry is a key of a mapping and what stands there.
type Entry struct {
	Key   string
	KeyAt Value
	Value Value
}

// Fields opens v, which must be a mapping; else it reports that and the result has no entries.
func (v Value) Fields() *Fields {
	f := &Fields{At: v, taken: map[string]bool{}}
	if v.IsSet() && !v.Is(yaml.MappingNode) {
		v.Check(scalar.WantMappingUnseen(v.Node))
		return f
	}
	if v.IsSet() {
		f.merge(v.Node, false)
	}
	return f
}

// merge adds the pairs of n; those of a << key are weaker than n's own.
func (f *Fields) merge(n *yaml.Node, weak bool) {
	var bases []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		switch {
		case k.Kind != yaml.ScalarNode:
			f.At.At(k, f.At.Path).Check(scalar.Want("a name as key", k))
		case k.ShortTag() == "!!merge":
			bases = append(bases, v)
		default:
			f.addEntry(k, v, weak)
		}
	}
	for _, b := range bases {
		f.mergeBase(b)
	}
}

func (f *Fields) mergeBase(n *yaml.Node) {
	b := f.At.At(n, f.At.Path)
	switch {
	case b.Is(yaml.MappingNode):
		f.merge(b.Node, true)
	case b.Is(yaml.SequenceNode):
		for _, c := range b.Node.Content {
			f.mergeBase(c)
		}
	default:
		f.At.Errorf("<<: %v", scalar.WantMappingUnseen(b.Node))
	}
}

func (f *Fields) addEntry(k, v *yaml.Node, weak bool) {
	path := Join(f.At.Path, k.Value)
	e := Entry{Key: k.Value, KeyAt: f.At.At(k, path), Value: f.At.At(v, path)}
	for _, have := range f.Entries {
		if have.Key == k.Value {
			if !weak {
				e.KeyAt.Errorf("%q is set twice, first in line %d", k.Value, have.KeyAt.Node.Line)
			}
			return
		}
	}
	f.Entries = append(f.Entries, e)
}

// Get returns the value of the first of names that is set; the others are its other spellings. Blanks set nothing.
func (f *Fields) Get(names ...string) Value {
	found := Value{findings: f.At.findings, file: f.At.file}
	for _, name := range names {
		f.asked = append(f.asked, name)
		e, ok := f.entry(name)
		if !ok {
			continue
		}
		f.taken[name] = true
		switch {
		case e.Value.IsBlank():
		case found.IsSet():
			e.KeyAt.Errorf(Duplicate, found.Path)
		default:
			found = e.Value
		}
	}
	if !found.IsSet() {
		found.Path = Join(f.At.Path, names[0])
	}
	return found
}

func (f *Fields) entry(name string) (Entry, bool) {
	i := slices.IndexFunc(f.Entries, func(e Entry) bool { return e.Key == name })
	if i < 0 {
		return Entry{}, false
	}
	return f.Entries[i], true
}

// Either returns the first of names that is set; unlike the spellings of Get, several may be.
func (f *Fields) Either(names ...string) Value {
	found := f.Get(names[len(names)-1])
	for i := len(names) - 2; i >= 0; i-- {
		Replace(&found, f.Get(names[i]))
	}
	return found
}

// Has reports whether one of the keys is there, with or without a value.
func (f *Fields) Has(names ...string) bool {
	return slices.ContainsFunc(f.Entries, func(e Entry) bool { return slices.Contains(names, e.Key) })
}

// ToolOnly takes keys that the real tool knows and the native generator cannot honour.
func (f *Fields) ToolOnly(names ...string) {
	for _, name := range names {
		if v := f.Get(name); v.IsSet() {
			v.KnownToTool(name)
		}
	}
}

// DefaultOnly takes keys that the native generator has as they are by default: another value is the real tool's.
func (f *Fields) DefaultOnly(defaults map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(defaults)) {
		def, v := defaults[name], f.Get(name)
		x, notNumber := scalar.Number(v.Node)
		y, notDefault := scalar.Number(scalar.Node(def))
		if notNumber == nil && notDefault == nil && x == y {
			continue
		}
		if v.IsSet() && !strings.EqualFold(v.Text(), def) {
			v.KnownToTool(name)
		}
	}
}

// Noted takes keys that change nothing here; because says why.
func (f *Fields) Noted(because string, names ...string) {
	for _, name := range names {
		if v := f.Get(name); v.IsSet() {
			v.Notef("%s", because)
		}
	}
}

// Ignore takes keys that neither change nor hide anything.
func (f *Fields) Ignore(names ...string) {
	for _, name := range names {
		f.Get(name)
	}
}

// Close reports the keys that were never asked for.
func (f *Fields) Close() {
	for _, e := range f.Entries {
		if !f.taken[e.Key] {
			p := problem.At(f.At.file, e.KeyAt.Node, e.KeyAt.Path, "%s", problem.UnknownField(e.Key, f.asked))
			p.Warning = f.At.lenient
			f.At.add(p)
		}
	}
}

// Texts reads a mapping of names to text.
func (v Value) Texts() map[string]string {
	out := map[string]string{}
	for _, e := range v.Fields().Entries {
		out[e.Key] = e.Value.Text()
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// Items returns the entries of a list; a scalar or a map is a list of one.
func (v Value) Items() []Value {
	if !v.IsSet() {
		return nil
	}
	if !v.Is(yaml.SequenceNode) {
		return []Value{v}
	}
	out := make([]Value, 0, len(v.Node.Content))
	for i, c := range v.Node.Content {
		out = append(out, v.At(c, fmt.Sprintf("%s[%d]", v.Path, i)))
	}
	return out
}

// Join appends a key to a dotted path, quoted where it holds a dot.
func Join(path, key string) string {
	switch {
	case path == "":
		return key
	case strings.ContainsAny(key, ".[]"):
		return fmt.Sprintf("%s[%q]", path, key)
	default:
		return path + "." + key
	}
}

// CountSet is how many of vs are set.
func CountSet(vs ...Value) int {
	n := 0
	for _, v := range vs {
		if v.IsSet() {
			n++
		}
	}
	return n
}

// Replace sets have to v, where that is set.
func Replace(have *Value, v Value) {
	if v.IsSet() {
		*have = v
	}
}
