package compile

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// written is v as our YAML; v holds what encoding/json decodes.
func written(v map[string]any) []byte {
	var b bytes.Buffer
	yamlWriter{&b}.mapping(v, 0)
	return b.Bytes()
}

// sameForAllReaders fails unless both YAML readers, of 1.1 (what the API machinery uses) and 1.2, read v back.
func sameForAllReaders(t *testing.T, v map[string]any) {
	t.Helper()
	text := written(v)
	want, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	old, err := sigsyaml.YAMLToJSONStrict(text)
	if err != nil {
		t.Fatalf("reading as YAML 1.1: %v\n%s", err, text)
	}
	var tree map[string]any
	if err := yaml.Unmarshal(text, &tree); err != nil {
		t.Fatalf("reading as YAML 1.2: %v\n%s", err, text)
	}
	recent, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range [][]byte{old, recent} {
		if diff := cmp.Diff(decoded(t, want), decoded(t, got)); diff != "" {
			t.Errorf("read back differently (-want +got):\n%s\n%s", diff, text)
		}
	}
}

func decoded(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTextsThatLookLikeSomethingElseStayTexts(t *testing.T) {
	for _, s := range []string{
		"", " ", "a", "a ", " a", "yes", "No", "NULL", "~", "true", "y", "on", "1", "1.5", "0x1f", "1e3", "12:30:45", ".inf",
		".nan", "2024-01-02",
		"-", "--", "---", "...", "- a", "--plan-dir=$(workspaces.plan.path)", "a: b", "a:", "a #b", "#a", "&a", "*a", "!a",
		"|", ">", "%a", "@a", "`a`",
		"{a}", "[a]", "a, b", "'", "''", "\"", "it's", "a\nb", "a\n", "\n", "\ta", "a\tb", "a\\b", "\x00", "\x7f", "\u0085",
		"\u00a0", "\u2028", "\ufeff", "🚀", "\ufffd",
		"=", "<<", "?", "? a", ":a", "$(a)", "/bin:x", "0b1", "0o7", "+1", "1_000", "null", "Off", "a~", "e3", "E", "N",
	} {
		sameForAllReaders(t, map[string]any{"k": s, "list": []any{s, []any{s}, map[string]any{"in": s}},
			"map": map[string]any{s: s}})
	}
}

func TestShapesAreReadBack(t *testing.T) {
	for _, v := range []map[string]any{
		{"a": nil}, {"a": true, "b": json.Number("12"), "c": json.Number("1.5e+30")},
		{"a": []any{}, "b": map[string]any{}},
		{"a": []any{[]any{}, map[string]any{}, nil, []any{"x", []any{"y", map[string]any{"z": []any{"w"}}}}}},
		{"a": []any{map[string]any{"b": map[string]any{"c": []any{map[string]any{"d": "e", "f": "g"}}}, "h": "i"}}},
	} {
		sameForAllReaders(t, v)
	}
}

func FuzzYAMLIsReadBack(f *testing.F) {
	f.Add(`{"a":["b",{"c":null,"d":[1,true,{}]}]}`)
	f.Add(`{"yes":"no","1":"2","":"\u0000\u2028"}`)
	f.Fuzz(func(t *testing.T, text string) {
		dec := json.NewDecoder(bytes.NewReader([]byte(text)))
		dec.UseNumber()
		var v map[string]any
		if dec.Decode(&v) != nil || bytes.ContainsAny([]byte(text), "0123456789") || len(v) == 0 {
			t.Skip() // no object with anything in it; or numbers, which the readers under comparison round differently
		}
		sameForAllReaders(t, v)
	})
}
