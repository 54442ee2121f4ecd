package tools_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"bflow.dev/bflow/report/imports"
	"bflow.dev/bflow/report/tools"
)

func read(t *testing.T, text string) tools.Document {
	t.Helper()
	doc, err := tools.ReadDocument(t.Context(), "file.json", strings.NewReader(text), t.TempDir(), imports.Long)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestLongListsAreKeptAside(t *testing.T) {
	for _, row := range []struct {
		name, file, data, path string
		elements               string // with a blank between
	}{
		{"the requests of GuideLLM",
			`{"benchmarks": [{"requests": {"successful": [ {"a":[1,"]"]} , {"b":"\"}"}],"total":null}}]}`,
			`{"benchmarks": [{"requests": {"successful": [],"total":null}}]}`, "benchmarks[0].requests.successful",
			`{"a":[1,"]"]} {"b":"\"}"}`},
		{"those of the second benchmark", `{"benchmarks":[{"requests":{"errored":[]}},{"requests":{"errored":[1]}}]}`,
			`{"benchmarks":[{"requests":{"errored":[]}},{"requests":{"errored":[]}}]}`, "benchmarks[1].requests.errored", `1`},
		{"a list that is the document", "\n[{},\n {\"start_time\":1}\n]\n", "\n[\n]\n", "", `{} {"start_time":1}`},
		{"lists of vllm bench", `{"ttfts":[0.5,NaN,-Infinity],"completed":3}`, `{"ttfts":[],"completed":3}`, "ttfts",
			`0.5 null null`},
		{"requests with what is no number",
			`{"benchmarks":[{"requests":{"successful":[{"a":[NaN,-Infinity]},{"b":Infinity}]}}]}`,
			`{"benchmarks":[{"requests":{"successful":[]}}]}`, "benchmarks[0].requests.successful",
			`{"a":[null,null]} {"b":null}`},
		{"no other list", `{"x":{"ttfts":[1]},"percentiles":[1,2]}`, `{"x":{"ttfts":[1]},"percentiles":[1,2]}`, "x.ttfts",
			``},
	} {
		t.Run(row.name, func(t *testing.T) {
			doc := read(t, row.file)
			var got []string
			for element, err := range doc.Each(t.Context(), row.path) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, string(element))
			}
			if strings.Join(got, " ") != row.elements || string(doc.Data) != row.data || doc.Broken != nil ||
				doc.Len(row.path) != len(got) {
				t.Errorf("%q beside %q: %v", got, doc.Data, doc.Broken)
			}
			var copied bytes.Buffer
			want := strings.NewReplacer("NaN", "null", "-Infinity", "null", "Infinity", "null").Replace(row.file)
			if err := doc.Write(t.Context(), &copied); err != nil || copied.String() != want {
				t.Errorf("%v, copy\n%s\nwant\n%s", err, copied.String(), want)
			}
		})
	}
}

func TestWhereAFileIsCutIsSaid(t *testing.T) {
	for file, want := range map[string]string{
		`{"benchmarks": [`: "it ends at byte 16, in benchmarks: was the file cut",
		`{"benchmarks":[{"requests":{"successful":[{"a":1},{"b":"x`: "it ends at byte 57, in " +
			"benchmarks[0].requests.successful[1]: was",
		`{"benchmarks":[{"requests":{"successful":[{"a":1} {"b":2}]}}]}`: "byte 50, in " +
			"benchmarks[0].requests.successful[1]: this is not valid JSON",
		`{"completed":1,"ttfts":[1,2`:         "it ends at byte 27, in ttfts[",
		`{"completed":tru}`:                   "byte 16, in completed: this is not valid JSON",
		"{\"a\":1}\n{\"a\":2}\n{\"metadata\"": "it ends at byte 27, in line 3: was the file cut",
		`{"a" 1}`:                             "byte 6, in a: this is not valid JSON",
	} {
		if doc := read(t, file); doc.Broken == nil || !strings.Contains(doc.Broken.Error(), want) {
			t.Errorf("%s: %v, want %q", file, doc.Broken, want)
		}
	}
}

// endless is a file with a list of many requests.
type endless struct {
	left int
	rest []byte
	read func()
}

func (e *endless) Read(p []byte) (int, error) {
	if len(e.rest) == 0 {
		e.read()
		switch e.left--; {
		case e.left < 0:
			return 0, io.EOF
		case e.left > 0:
			e.rest = fmt.Appendf(nil, `{"request_id":"%d","output":"%s"},`, e.left, strings.Repeat("a word ", 300))
		default:
			e.rest = []byte(`{}]}}]}`)
		}
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

func TestADocumentIsNotInMemory(t *testing.T) {
	const requests = 50_000 // of two kilobytes
	before := inUse()
	most := before
	file := &endless{left: requests, rest: []byte(`{"benchmarks":[{"requests":{"successful":[`)}
	file.read = func() {
		if file.left%10_000 == 0 {
			most = max(most, inUse())
		}
	}
	doc, err := tools.ReadDocument(t.Context(), "file.json", file, t.TempDir(), imports.Long)
	if err != nil || doc.Broken != nil || doc.Len("benchmarks[0].requests.successful") != requests {
		t.Fatalf("%d requests: %v, %v", doc.Len("benchmarks[0].requests.successful"), err, doc.Broken)
	}
	if most-before > 8<<20 {
		t.Errorf("%d bytes are in memory", most-before)
	}
}

func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestReadingADocumentEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	file := &endless{left: 1 << 40, rest: []byte(`{"benchmarks":[{"requests":{"successful":[`)}
	file.read = func() {
		if file.left == 1<<40-1000 {
			cancel()
		}
	}
	if _, err := tools.ReadDocument(ctx, "file.json", file, t.TempDir(), imports.Long); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
