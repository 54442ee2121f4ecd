package spec

import (
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestParsePath(t *testing.T) {
	for _, row := range []struct{ name, text, want, err string }{
		{"keys", "overrides.runtime.env.SEED", "overrides.runtime.env.SEED", ""},
		{"an index", "load.stages[0].rate", "load.stages[0].rate", ""},
		{"a quoted key", `node_selector["a.b/c"].x`, `node_selector["a.b/c"].x`, ""},
		{"needless quotes", `a["b"]`, "a.b", ""},
		{"nothing", "", "", `reading path "": want a dotted path such as load.stages[0].rate`},
		{"two dots", "a..b", "", `reading path "a..b": want a key before ".b"`},
		{"a dot at the end", "a.", "", `reading path "a.": want a key before ""`},
		{"an open bracket", "a[0", "",
			`reading path "a[0": want an index such as [0] or a quoted key such as ["a.b/c"] at "[0"`},
		{"an open quote", `a["b]`, "", "reading path \"a[\\\"b]\": want a quoted key such as [\"a.b/c\"] at \"[\\\"b]\""},
		{"text after a bracket", "a[0]b", "", `reading path "a[0]b": want . or [ before "b"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, err := ParsePath(row.text)
			if err != nil && err.Error() != row.err || err == nil && row.err != "" {
				t.Fatalf("got error %v, want %s", err, row.err)
			}
			if err == nil && p.String() != row.want {
				t.Errorf("got %s, want %s", p, row.want)
			}
		})
	}
}

func TestWithCopiesOnlyThePath(t *testing.T) {
	roots, _ := parse("t", []byte("a: {b: [1, 2], c: 3}\nd: {e: 4}\n"))
	root := roots[0]
	p, _ := ParsePath("a.b[1]")
	changed, err := With(root, p, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: "9"})
	if err != nil {
		t.Fatal(err)
	}
	if got := Get(root, p).Value; got != "2" {
		t.Errorf("the old tree has %s, want 2", got)
	}
	if got := Get(changed, p).Value; got != "9" {
		t.Errorf("the new tree has %s, want 9", got)
	}
	if d := (Path{{Key: "d"}}); Get(root, d) != Get(changed, d) {
		t.Error("want the rest shared")
	}
}

func TestWithMakesMappingsAndAppends(t *testing.T) {
	roots, _ := parse("t", []byte("a: [1]\n"))
	value := &yaml.Node{Kind: yaml.ScalarNode, Value: "x"}
	for text, wantErr := range map[string]string{
		"b.c.d": "", "a[1]": "",
		"a[3]":   "want an index of at most 1, found 3",
		"a.b":    "want a mapping to hold b, found a list",
		"a[0].b": `want a mapping to hold b, found "1"`,
	} {
		p, _ := ParsePath(text)
		out, err := With(roots[0], p, value)
		if err != nil && err.Error() != wantErr || err == nil && wantErr != "" {
			t.Errorf("%s: got error %v, want %q", text, err, wantErr)
		}
		if err == nil && Get(out, p) != value {
			t.Errorf("%s: the value is not there", text)
		}
	}
}
