package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

// texts are JSON, and what is nearly JSON.
func texts() []string {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	return []string{
		`{}`, `[]`, `{"a":[1,-0.5e+3,{"b":null}],"c":"\u00e9\n\"x"}`, " [ true , false ]\n", `"é"`, "0", "-1", "1E9",
		"{}\x00", `{"a":1,}`, `[1,]`, `[,1]`, `[1 2]`, `{"a" 1}`, `{"a":}`, `{a:1}`, `{"a":1`, `["x]`, `"\x"`, `"\u12g4"`,
		`"\`, "\"a\nb\"",
		`01`, `1.`, `.5`, `1e`, `+1`, `-`, `tru`, `truex`, `nul`, `NaN`, `{"a":NaN}`, "\"\xff\"", `{"\ud800":1}`, ``, ` `,
		deep(deepestNesting), deep(deepestNesting + 1), `[1]]`, `{}{}`, `[1}`, `{1:2}`, `["a":1]`,
	}
}

// checkWalks fails t where a walk over a text does not agree with encoding/json.
func checkWalks(t *testing.T, text string) {
	t.Helper()
	want := json.Valid([]byte(text))
	c := cursor{in: []byte(text)}
	if _, ok := c.skip(0); (ok && c.isAtEnd()) != want {
		t.Errorf("%.40q is passed over: %v, want %v", text, ok, want)
	}
	s := newScrubber()
	n, ok := s.walk([]byte(text), 0)
	if strings.Contains(text, "NaN") || strings.Contains(text, "Infinity") {
		return
	}
	if whole := ok && strings.Trim(text[n:], " \t\r\n") == ""; whole != want {
		t.Errorf("%.40q is walked over: %v, want %v", text, ok, want)
	}
}

func TestWalksOverATextAgreeWithEncodingJSON(t *testing.T) {
	for _, text := range texts() {
		checkWalks(t, text)
	}
}

// element has members of every kind that formats have.
type element struct {
	elementIn
	Flag    bool             `json:"flag"`
	Whole   int              `json:"whole"`
	Long    *int64           `json:"long"`
	Real    float64          `json:"real"`
	Maybe   Maybe[float64]   `json:"maybe"`
	Text    *string          `json:"text"`
	Nothing Null             `json:"nothing"`
	In      *element         `json:"in"`
	Many    []int            `json:"many"`
	Deeper  [][]*elementIn   `json:"deeper"`
	Raw     json.RawMessage  `json:"raw"`
	Bytes   []byte           `json:"bytes"`
	Named   Members[element] `json:"named"`
	Any     any              `json:"any"`
	Free    Free             `json:"free"`
}

type elementIn struct {
	ID string `json:"id"`
}

func elementTexts() []string {
	return []string{
		`{"id":"a","flag":true,"whole":-3,"long":9007199254740993,"real":1.5e-3,"maybe":null,"text":"é\n",` +
			`"nothing":{"x":[1]},` +
			`"in":{"id":"b","in":null},"many":[1,2],"any":{"x":"y"},"free":{"p":1}}`,
		`{"whole":null,"flag":null,"id":null,"text":null,"in":null,"many":null,"maybe":1}`,
		`{"other":{"whole":[1,{"a":"}"}]},"whole":7,"id":"last"}`, `{"WHOLE":1}`,
		`{"whole":1,"whole":2,"in":{"id":"x"},"in":{"real":2}}`,
		`{"in":{"id":"x"},"in":null}`, `{"text":"a","text":null}`, `{"whole":1.0}`, `{"whole":"1"}`, `{"flag":1}`,
		`{"real":"x"}`, `{"real":1e999}`,
		`{"long":92233720368547758070}`, `{"in":[]}`, `{"text":1}`, `[]`, `null`, `{"whole":1}x`, `{"whole":1`,
		`{"\u0069d":"x"}`, `{"id":"\ud800"}`,
		"{\"id\":\"\xff\"}", `{"hidden":1,"elementIn":{"id":"x"}}`, `{"maybe":"x"}`, ` { "id" : "x" } `,
		`{"ID":"x","id":"y"}`, `{"ſ":1,"K":2}`,
		`{"many":[],"deeper":[[{"id":"a"},null],null,[]],"raw": [1, {"a":null}] ,"bytes":"YQ=="}`,
		`{"many":[1,null],"many":[null,2,null],"many":[],"many":[null]}`, `{"many":[1,"x"]}`, `{"many":{}}`,
		`{"deeper":[[{"id":"a"}]],"deeper":[[{}]],"raw":1,"raw":null}`,
		`{"named":{"b":{"raw":1},"a":{},"b":{"id":"x"}},"raw":""}`, `{"named":{}}`, `{"named":null}`, `{"named":[]}`,
		`{"named":{"a":{"id":1}}}`, `{"named":{"a":{}},"named":{"\u0062":null}}`, `{"named":{"a":{}},"named":null}`,
	}
}

// checkElement fails t where a text is read otherwise than encoding/json reads it.
func checkElement(t *testing.T, r *elementReader, text string) (read bool) {
	t.Helper()
	var got, want element
	if !r.read([]byte(text), reflect.ValueOf(&got).Elem()) {
		return false
	}
	if err := json.Unmarshal([]byte(text), &want); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s is read as\n%+v, want\n%+v: %v", text, got, want, err)
	}
	return true
}

func TestElementsAreReadAsEncodingJSONReadsThem(t *testing.T) {
	r := newElementReader(reflect.TypeFor[element]())
	read := 0
	for _, text := range elementTexts() {
		if checkElement(t, r, text) {
			read++
		}
	}
	if read < 20 {
		t.Errorf("%d texts are not left to encoding/json", read)
	}
}

func FuzzElements(f *testing.F) {
	for _, text := range append(texts(), elementTexts()...) {
		if len(text) < 1000 {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		checkWalks(t, text)
		checkElement(t, newElementReader(reflect.TypeFor[element]()), text)
	})
}

func TestElementsStayInTheirFile(t *testing.T) {
	long := strings.Repeat("x", leastReferred)
	file := fmt.Sprintf("\xef\xbb\xbf"+`{"benchmarks":[{"requests":{"successful":[ {"a":%q} ,`+"\n"+
		`{"api_key":%q},{"b":NaN,"c":%q}, {"d":1},{"e":%q}]}}]}`,
		long, long, long, long)
	path := t.TempDir() + "/benchmarks.json"
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(file)
	doc, err := OpenDocument(t.Context(), path, t.TempDir(),
		func(path string) bool { return strings.HasSuffix(path, ".successful") })
	if err != nil || doc.Broken != nil {
		t.Fatal(err, doc.Broken)
	}
	if doc.spill.size > int64(len(file)) {
		t.Errorf("%d bytes are kept aside of a file of %d", doc.spill.size, len(file))
	}
	want := strings.NewReplacer("\xef\xbb\xbf", "", "NaN", "null", `"api_key":"`+long+`"`, `"api_key":null`).Replace(file)
	var got bytes.Buffer
	if err := doc.Write(t.Context(), &got); err != nil || got.String() != want {
		t.Errorf("the copy is\n%s, want\n%s: %v", got.String(), want, err)
	}
	write(strings.Replace(file, "x", "y", 1) + " ")
	for _, err = range doc.Each(t.Context(), "benchmarks[0].requests.successful") {
		if err != nil {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), "it was written to meanwhile") {
		t.Errorf("the error of a file that was written to is %v", err)
	}
}
