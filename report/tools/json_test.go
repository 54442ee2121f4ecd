package tools

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"
)

// looseDoc has values of every type, as elements of a list and as members.
type looseDoc struct {
	In      looseMembers `json:"in"`
	List    Stream[any]  `json:"list"`
	Nothing Stream[any]  `json:"nothing"`
}

type looseMembers struct {
	Members map[string]any `json:"-" free:"yes"`
}

func TestADocumentIsWrittenAsEncodingJSONDoes(t *testing.T) {
	scalars := []any{nil, true, false, 0, -7, int64(1) << 60, 0.0, math.Copysign(0, -1), 1.5, 1e-6, 9.99e-7, 1e20, 1e21,
		-2.5e-9, math.MaxFloat64, 1777888800.123456,
		"", "plain", "a<b>&c", `say "so" \ no`, "line\nfeed\u2028", "é", "\xff", "\x01"}
	doc := map[string]any{"empty": map[string]any{}, "none": []map[string]any{}, "absent": map[string]any(nil),
		"missing":   []map[string]any(nil),
		"é \"key\"": map[string]any{"deeper": []map[string]any{{"x": []int{1, 2}}, {}}}, "struct": struct{ B, A *int }{}}
	for i, text := range []string{"1", `"a<b>\u2028"`, "[]", "{}", "[1,2]", `{"b":[1, {}], "a":null}`, "null", " 1 ",
		"-0"} {
		doc["raw "+string(rune('a'+i))] = json.RawMessage(text)
	}
	doc["raw"], doc["ordered"] = json.RawMessage(nil), map[string]any{"b": Members[any](nil), "c": Members[any]{},
		"a": Members[any]{{"z", 1}, {"y\"", []Members[json.RawMessage]{{{"w", json.RawMessage("[1]")}}}}}}
	for i, v := range scalars {
		doc[string(rune('a'+i))] = v
	}
	var want, got bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	plain := map[string]any{"list": scalars, "nothing": []any{}, "in": doc}
	if err := enc.Encode(plain); err != nil {
		t.Fatal(err)
	}
	streamed := looseDoc{In: looseMembers{doc}, List: StreamOf(scalars), Nothing: StreamOf([]any{})}
	if err := JSON("doc.json", streamed).Write(t.Context(), &got); err != nil || got.String() != want.String() {
		t.Errorf("%v:\n%s\nwant\n%s", err, got.String(), want.String())
	}
	want.Reset()
	got.Reset()
	enc.SetIndent("", "")
	if err := enc.Encode(plain); err != nil {
		t.Fatal(err)
	}
	if err := JSONLines("doc.jsonl", StreamOf([]looseDoc{streamed})).Write(t.Context(), &got); err != nil ||
		got.String() != want.String() {
		t.Errorf("%v:\n%s\nwant\n%s", err, got.String(), want.String())
	}
}

func TestJSONThatIsNoneIsAnError(t *testing.T) {
	for _, text := range []string{"", "[1", "1 2", "NaN", "{1}", "'x'"} {
		if err := JSON("doc.json", json.RawMessage(text)).Write(t.Context(), &bytes.Buffer{}); err == nil {
			t.Errorf("%q is written", text)
		}
	}
}

func TestOfTwoMembersOfANameTheLastCounts(t *testing.T) {
	m := Members[int]{{"a", 1}, {"b", 2}, {"a", 3}}
	if v, ok := m.Get("a"); !ok || v != 3 {
		t.Errorf("%d, %v", v, ok)
	}
	if v, ok := m.Get("c"); ok || v != 0 {
		t.Errorf("%d, %v", v, ok)
	}
}

func TestANumberThatJSONCannotHoldIsAnError(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1)} {
		if err := JSON("doc.json", map[string]any{"a": v}).Write(t.Context(), &bytes.Buffer{}); err == nil {
			t.Errorf("%v is written", v)
		}
	}
}
