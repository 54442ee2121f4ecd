package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// lineDoc is what a line holds.
type lineDoc struct {
	Whole int                `json:"whole"`
	Raw   json.RawMessage    `json:"raw"`
	Named Members[elementIn] `json:"named"`
}

// numbered is a document of lines that hold their numbers; replaced are some of them.
func numbered(t *testing.T, n int, replaced map[int]string) *Document {
	t.Helper()
	var text strings.Builder
	for i := range n {
		if line, ok := replaced[i]; ok {
			fmt.Fprintln(&text, line)
		} else {
			fmt.Fprintf(&text, `{"whole":%d,"raw":[%d],"named":{"a":{"id":"%d"}}}`+"\n", i, i, i)
		}
	}
	doc, err := ReadDocument(t.Context(), "many.jsonl", strings.NewReader(text.String()), t.TempDir(), nil)
	if err != nil || doc.Broken != nil {
		t.Fatal(err, doc.Broken)
	}
	return &doc
}

func TestManyElementsAreDecodedInTheirOrder(t *testing.T) {
	const n = 5 * batchElements
	long := fmt.Sprintf(`{"whole":700,"id":%q}`, strings.Repeat("x", 5*batchText))
	kept := make([]lineDoc, 0, n)
	for e, err := range Values[lineDoc](numbered(t, n, map[int]string{700: long}))(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, e)
	}
	if len(kept) != n {
		t.Fatalf("%d elements of %d", len(kept), n)
	}
	for i, e := range kept {
		if e.Whole != i || i != 700 && (string(e.Raw) != fmt.Sprintf("[%d]", i) || e.Named[0].Value.ID != fmt.Sprint(i)) {
			t.Fatalf("element %d is %+v", i, e)
		}
	}
}

func TestOnlyWantedElementsAreDecoded(t *testing.T) {
	for _, n := range []int{10, 4000} {
		text := "[" + strings.Repeat(`{"whole":"x"},{"whole":1},`, n) + `{"whole":"y"}]`
		doc, err := ReadDocument(t.Context(), "many.json", strings.NewReader(text), t.TempDir(),
			func(path string) bool { return path == "" })
		if err != nil || doc.Broken != nil {
			t.Fatal(err, doc.Broken)
		}
		last, seen := 2*n, 0
		for e, err := range SomeElements[lineDoc](&doc, "", func(i int) bool { return i%2 == 1 || i == last })(t.Context()) {
			if err != nil {
				want := fmt.Sprintf(`reading "many.json: [%d]": whole: want a whole number, found string`, last)
				if seen != n || err.Error() != want {
					t.Errorf("behind %d elements: %v, want %s", seen, err, want)
				}
				continue
			}
			if seen++; e.Whole != 1 {
				t.Fatalf("%+v was not wanted", e)
			}
		}
	}
}

func TestDecodingManyEndsAtTheFirstError(t *testing.T) {
	doc := numbered(t, 4000, map[int]string{2500: `{"whole":"x"}`, 2501: `{"whole":"y"}`, 3999: `{"whole":1.5}`})
	next := 0
	for e, err := range Values[lineDoc](doc)(t.Context()) {
		if err != nil {
			const want = `reading "many.jsonl:2501": whole: want a whole number, found string`
			if next != 2500 || err.Error() != want {
				t.Errorf("behind %d elements: %v, want %s", next, err, want)
			}
			return
		}
		if e.Whole != next {
			t.Fatalf("%d comes instead of %d", e.Whole, next)
		}
		next++
	}
	t.Error("there is no error")
}

func TestDecodingManyEndsWithWhoReads(t *testing.T) {
	doc := numbered(t, 4000, nil)
	for range Values[lineDoc](doc)(t.Context()) {
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	var failed error
	for e, err := range Values[lineDoc](doc)(ctx) {
		if failed = err; e.Whole == 1 {
			cancel()
		}
	}
	cancel()
	if !errors.Is(failed, context.Canceled) {
		t.Errorf("the error is %v", failed)
	}
}
