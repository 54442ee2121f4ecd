package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"
)

type innerDoc struct {
	First int     `json:"first"`
	Last  *string `json:"last"`
}

// plainDoc and streamedDoc hold the same.
type plainDoc struct {
	innerDoc
	Absent  []int               `json:"absent,omitempty"`
	Empty   []int               `json:"empty"`
	Many    []innerDoc          `json:"many"`
	Maybe   Maybe[float64]      `json:"maybe,omitzero"`
	Named   map[string]innerDoc `json:"named"`
	Never   Maybe[int]          `json:"never,omitzero"`
	Nothing *innerDoc           `json:"nothing"`
	Null    Maybe[int]          `json:"null,omitzero"`
	Text    string              `json:"a<b>"`
	Unknown Null                `json:"unknown"`
	hidden  int
}

type streamedDoc struct {
	innerDoc
	Absent  Stream[int]         `json:"absent,omitempty"`
	Empty   Stream[int]         `json:"empty"`
	Many    Stream[innerDoc]    `json:"many"`
	Maybe   Maybe[float64]      `json:"maybe,omitzero"`
	Named   map[string]innerDoc `json:"named"`
	Never   Maybe[int]          `json:"never,omitzero"`
	Nothing *streamedDoc        `json:"nothing"`
	Null    Maybe[int]          `json:"null,omitzero"`
	Text    string              `json:"a<b>"`
	Unknown Null                `json:"unknown"`
	hidden  int
}

func TestStructsWithStreamsAreWrittenAsOthersAre(t *testing.T) {
	some := []innerDoc{{First: 1}, {First: 2, Last: new("<&>")}}
	plain := plainDoc{innerDoc: innerDoc{First: 7}, Empty: []int{}, Many: some, Maybe: Some(new(1e-9)),
		Named: map[string]innerDoc{"b": some[0], "a": some[1]}, Null: Some[int](nil), Text: "é\"<", hidden: 1}
	streamed := streamedDoc{innerDoc: plain.innerDoc, Empty: StreamOf(plain.Empty), Many: StreamOf(some),
		Maybe: plain.Maybe, Named: plain.Named, Null: plain.Null, Text: plain.Text, hidden: 2}
	for _, indent := range []string{"", "  "} {
		var want, got bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", indent)
		if err := enc.Encode(map[string][]plainDoc{"docs": {plain, plain}}); err != nil {
			t.Fatal(err)
		}
		doc := map[string][]streamedDoc{"docs": {streamed, streamed}}
		file := JSON("doc.json", doc)
		if indent == "" {
			file = JSONLines("doc.jsonl", StreamOf([]map[string][]streamedDoc{doc}))
		}
		if err := file.Write(t.Context(), &got); err != nil || got.String() != want.String() {
			t.Errorf("%v:\n%s\nwant\n%s", err, got.String(), want.String())
		}
		var back map[string][]streamedDoc
		if err := json.Unmarshal(got.Bytes(), &back); err != nil {
			t.Fatal(err)
		}
		got.Reset()
		err := JSONLines("doc.jsonl", StreamOf([]any{back})).Write(t.Context(), &got)
		if err != nil || compact(t, got.Bytes()) != compact(t, want.Bytes()) {
			t.Errorf("%v: read and written again:\n%s\nwant\n%s", err, got.String(), want.String())
		}
	}
}

func compact(t *testing.T, text []byte) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, text); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}

type freeDoc struct {
	B      int            `json:"b"`
	D      string         `json:"d"`
	Counts map[string]int `json:"-" free:"yes"`
	Rest   Free           `json:"-" free:"yes"`
}

func TestFreeMembersAreSortedAmongTheOthers(t *testing.T) {
	rest, err := NewFree(map[string]any{"d": []int{1}, "e": "<x>"})
	if err != nil {
		t.Fatal(err)
	}
	doc := freeDoc{B: 1, D: "replaced", Counts: map[string]int{"c": 3, "a": 0}, Rest: rest}
	var got bytes.Buffer
	const want = `{"a":0,"b":1,"c":3,"d":[1],"e":"<x>"}` + "\n"
	if err := JSONLines("", StreamOf([]any{doc, &doc})).Write(t.Context(), &got); err != nil || got.String() != want+want {
		t.Errorf("%v: %s, want %s", err, got.String(), want)
	}
	free, err := DecodeFree(Document{Data: got.Bytes()[:len(want)]}, doc)
	if err != nil || len(free) != 3 || string(free["c"]) != "3" {
		t.Errorf("%s, %v", free, err)
	}
}

func TestAStreamThatFailsEndsTheDocument(t *testing.T) {
	broken := errors.New("the disk is gone")
	doc := streamedDoc{Many: func(context.Context) iter.Seq2[innerDoc, error] {
		return func(yield func(innerDoc, error) bool) { yield(innerDoc{}, broken) }
	}}
	if err := JSON("doc.json", doc).Write(t.Context(), &bytes.Buffer{}); !errors.Is(err, broken) {
		t.Errorf("the error is %v", err)
	}
}

type marked struct {
	Needed  float64   `json:"needed" need:"yes"`
	Spelled int       `json:"spelled"`
	In      *markedIn `json:"in"`
	Not     markedIn  `json:"not" need:"no"`
	Many    []struct {
		markedIn
		Other string `json:"other"`
	} `json:"many"`
	Named  map[string]markedIn `json:"named"`
	Stream Stream[int]         `json:"stream"`
}

type markedIn struct {
	N *int `json:"n" need:"yes"`
	X bool `json:"x"`
}

func TestOnlyNeededMembersMustFit(t *testing.T) {
	for _, row := range []struct{ name, text, problem string }{
		{"all fit", `{"needed":1,"spelled":2,"in":{"n":3,"x":true},"many":[{"n":4}]}`, ""},
		{"others do not", `{"needed":1,"spelled":"two","in":{"n":3,"x":0},"not":{"n":"no"},"many":[{"n":4,"other":7}]}`, ""},
		{"nor others under names", `{"needed":1,"in":{"n":3},"many":[{"n":4}],"named":{"a":{"n":5,"x":[]}}}`, ""},
		{"nor what a stream holds before them", `{"stream":["x"],"needed":1,"in":{"n":3},"many":[{"n":4}]}`, ""},
		{"a needed one behind another that does not fit", `{"spelled":"two","needed":"one"}`,
			`needed: want a number, found string`},
		{"a needed one further in", `{"in":{"x":0,"n":1.5}}`, `in.n: want a whole number, found number 1.5`},
		{"one in a list", `{"many":[{"n":1},{"n":true}]}`, `n: want a whole number, found bool`},
		{"one under a name", `{"named":{"a":{"n":"1"}}}`, `n: want a whole number, found string`},
		{"what holds needed ones", `{"in":[]}`, `in: want an object, found array`},
		{"the whole document", `[1]`, `reading "f.json": want an object, found array`},
	} {
		t.Run(row.name, func(t *testing.T) {
			var v marked
			err := Decode(Document{Path: "f.json", Data: []byte(row.text)}, &v)
			if row.problem != "" {
				if err == nil || !strings.Contains(err.Error(), row.problem) {
					t.Errorf("the error is %v, want %s", err, row.problem)
				}
				return
			}
			if err != nil || v.Needed != 1 || *v.In.N != 3 || *v.Many[0].N != 4 {
				t.Errorf("%+v, %v", v, err)
			}
		})
	}
}
