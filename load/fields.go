package load

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/internal/scalar"
)

// fields reads a mapping by asking for its keys; close reports the keys that nobody asked for. So the code that
// reads a block is the list of its words.
type fields struct {
	at      value
	entries []entry
	asked   []string
	taken   map[string]bool
}

type entry struct {
	key   string
	keyAt value
	value value
}

// fields opens v, which must be a mapping; else it reports that and the result has no entries.
func (v value) fields() *fields {
	f := &fields{at: v, taken: map[string]bool{}}
	if v.set() && !v.is(yaml.MappingNode) {
		v.check(scalar.WantMappingUnseen(v.node))
		return f
	}
	if v.set() {
		f.merge(v.node, false)
	}
	return f
}

// merge adds the pairs of n; those of a << key are weaker than n's own.
func (f *fields) merge(n *yaml.Node, weak bool) {
	var bases []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		switch {
		case k.Kind != yaml.ScalarNode:
			f.at.at(k, f.at.path).check(scalar.Want("a name as key", k))
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

func (f *fields) mergeBase(n *yaml.Node) {
	b := f.at.at(n, f.at.path)
	switch {
	case b.is(yaml.MappingNode):
		f.merge(b.node, true)
	case b.is(yaml.SequenceNode):
		for _, c := range b.node.Content {
			f.mergeBase(c)
		}
	default:
		f.at.errorf("<<: %v", scalar.WantMappingUnseen(b.node))
	}
}

func (f *fields) addEntry(k, v *yaml.Node, weak bool) {
	path := join(f.at.path, k.Value)
	e := entry{key: k.Value, keyAt: f.at.at(k, path), value: f.at.at(v, path)}
	for _, have := range f.entries {
		if have.key == k.Value {
			if !weak {
				e.keyAt.errorf("%q is set twice, first in line %d", k.Value, have.keyAt.node.Line)
			}
			return
		}
	}
	f.entries = append(f.entries, e)
}

// get returns the value of the first of names that is set; the others are its other spellings. Blanks set nothing.
func (f *fields) get(names ...string) value {
	found := value{findings: f.at.findings, file: f.at.file}
	for _, name := range names {
		f.asked = append(f.asked, name)
		e, ok := f.entry(name)
		if !ok {
			continue
		}
		f.taken[name] = true
		switch {
		case e.value.blank():
		case found.set():
			e.keyAt.errorf("duplicates %q: remove one", found.path)
		default:
			found = e.value
		}
	}
	if !found.set() {
		found.path = join(f.at.path, names[0])
	}
	return found
}

func (f *fields) entry(name string) (entry, bool) {
	i := slices.IndexFunc(f.entries, func(e entry) bool { return e.key == name })
	if i < 0 {
		return entry{}, false
	}
	return f.entries[i], true
}

// either returns the first of names that is set; unlike the spellings of get, several may be.
func (f *fields) either(names ...string) value {
	found := f.get(names[len(names)-1])
	for i := len(names) - 2; i >= 0; i-- {
		replaced(&found, f.get(names[i]))
	}
	return found
}

// has reports whether one of the keys is there, with or without a value.
func (f *fields) has(names ...string) bool {
	return slices.ContainsFunc(f.entries, func(e entry) bool { return slices.Contains(names, e.key) })
}

// toolOnly takes keys that the real tool knows and the native generator cannot honour.
func (f *fields) toolOnly(names ...string) {
	for _, name := range names {
		if v := f.get(name); v.set() {
			v.needsTool("%q is known to the real tool only", name)
		}
	}
}

// defaultOnly takes keys that the native generator has as they are by default: another value is the real tool's.
func (f *fields) defaultOnly(defaults map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(defaults)) {
		def, v := defaults[name], f.get(name)
		x, notNumber := scalar.Number(v.node)
		y, notDefault := scalar.Number(scalar.Node(def))
		if notNumber == nil && notDefault == nil && x == y {
			continue
		}
		if v.set() && !strings.EqualFold(v.text(), def) {
			v.needsTool("%q is known to the real tool only", name)
		}
	}
}

// noted takes keys that change nothing here; because says why.
func (f *fields) noted(because string, names ...string) {
	for _, name := range names {
		if v := f.get(name); v.set() {
			v.notef("%s", because)
		}
	}
}

// ignore takes keys that neither change nor hide anything.
func (f *fields) ignore(names ...string) {
	for _, name := range names {
		f.get(name)
	}
}

// close reports the keys that were never asked for.
func (f *fields) close() {
	for _, e := range f.entries {
		if !f.taken[e.key] {
			p := problem.At(f.at.file, e.keyAt.node, e.keyAt.path, "%s", problem.UnknownField(e.key, f.asked))
			p.Warning = f.at.lenient
			f.at.add(p)
		}
	}
}

// texts reads a mapping of names to text.
func (v value) texts() map[string]string {
	out := map[string]string{}
	for _, e := range v.fields().entries {
		out[e.key] = e.value.text()
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// items returns the entries of a list; a scalar or a map is a list of one.
func (v value) items() []value {
	if !v.set() {
		return nil
	}
	if !v.is(yaml.SequenceNode) {
		return []value{v}
	}
	out := make([]value, 0, len(v.node.Content))
	for i, c := range v.node.Content {
		out = append(out, v.at(c, fmt.Sprintf("%s[%d]", v.path, i)))
	}
	return out
}

// join appends a key to a dotted path, quoted where it holds a dot.
func join(path, key string) string {
	switch {
	case path == "":
		return key
	case strings.ContainsAny(key, ".[]"):
		return fmt.Sprintf("%s[%q]", path, key)
	default:
		return path + "." + key
	}
}

// count is how many of vs are set.
func count(vs ...value) int {
	n := 0
	for _, v := range vs {
		if v.set() {
			n++
		}
	}
	return n
}

// replaced sets have to v, where that is set.
func replaced(have *value, v value) {
	if v.set() {
		*have = v
	}
}
