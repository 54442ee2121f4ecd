package tools_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"bflow.dev/bflow/report/imports"
	"bflow.dev/bflow/report/tools"
)

// scrubbed is the copy of a file that is kept, and how many values are not in it.
func scrubbed(t testing.TB, file []byte) ([]byte, int, error) {
	t.Helper()
	doc, err := tools.ReadDocument(t.Context(), "file", bytes.NewReader(file), t.TempDir(), imports.Long)
	if err != nil {
		t.Fatal(err)
	}
	if doc.Broken != nil {
		return nil, 0, doc.Broken
	}
	var out bytes.Buffer
	if err := doc.Write(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), doc.Hidden, nil
}

func TestNoSecretIsLeftInAFileOfATool(t *testing.T) {
	for _, row := range []struct{ name, file, want string }{
		{"a member", `{"api_key":"s3cret","n":1.50}`, `{"api_key":null,"n":1.50}`},
		{"a member that is spelt with escapes", `{"\u0061pi_key":"s3cret"}`, `{"\u0061pi_key":null}`},
		{"a number", `{"password":12345678,"max_token":4096}`, `{"password":null,"max_token":4096}`},
		{"headers of any name", `{"headers":{"X-Team":"s3cret"}}`, `{"headers":null}`},
		{"a command line", `{"command":"vllm bench serve --api-key s3cret --seed 1"}`,
			`{"command":"vllm bench serve --api-key xxxxx --seed 1"}`},
		{"arguments", `{"argv":["x","--api-key","s3cret","--token=s3cret","-v"]}`,
			`{"argv":["x","--api-key",null,"--token=xxxxx","-v"]}`},
		{"a header as a pair", `[["X-Api-Key","s3cret"],["a","b"]]`, `[["X-Api-Key",null],["a","b"]]`},
		{"a variable by name and value",
			`{"env":[{"name":"HF_TOKEN","value":"s3cret"},{"value":"s3cret","name":"DB_PASSWORD"},{"name":"A","value":"b"}]}`,
			`{"env":[{"name":"HF_TOKEN","value":null},{"value":null,"name":"DB_PASSWORD"},{"name":"A","value":"b"}]}`},
		{"an address", `{"target":"https://me:s3cret@h.example/v1?key=s3cret"}`,
			`{"target":"https://h.example/v1?key=xxxxx"}`},
		{"an address as a name", `{"https://me:s3cret@h.example":1}`, `{"https://h.example":1}`},
		{"JSON as a text", `{"args":"{\"backend\":{\"api_key\":\"s3cret\"},\"rate\":5}"}`,
			`{"args":"{\"backend\":{\"api_key\":null},\"rate\":5}"}`},
		{"Python as a text", `{"args":"{'api_key': 's3cret', 'rate': 5}"}`, `{"args":"{'api_key': 'xxxxx', 'rate': 5}"}`},
		{"JSON by lines", "{\"a\":1}\n{\"token\":\"s3cret\"}\n", "{\"a\":1}\n{\"token\":null}\n"},
		{"no number of Python", `{"a":NaN,"token":"s3cret"}`, `{"a":null,"token":null}`},
		{"YAML", "server:\n  api_key: s3cret\n  n: 1\n", "server:\n    api_key: null\n    n: 1\n"},
		{"YAML over lines", "api_key: >-\n  s3cret\n\n  s3cret\nn: 1\n", "api_key: null\nn: 1\n"},
		{"a later document", "n: 1\n---\ntoken: s3cret\n", "n: 1\n---\ntoken: null\n"},
		{"comments", "n: 1 # s3cret\n# the old one was s3cret\nm: 2\n", "n: 1\nm: 2\n"},
		{"a name that is no text", "? [api_key, x]\n: s3cret\n", "? [api_key, null]\n: null\n"},
		{"a value by an alias", "a: &k s3cret\napi_key: *k\n", "a: &k null\napi_key: *k\n"},
		{"arguments in YAML", "args: [--api-key, s3cret, -v]\n", "args: [--api-key, null, -v]\n"},
		{"a command line in YAML", "run: |\n  x --api-key s3cret\n", "run: |\n    x --api-key xxxxx\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, n, err := scrubbed(t, []byte(row.file))
			if err != nil || string(got) != row.want || n == 0 {
				t.Errorf("%d values, %v:\n got %s\nwant %s", n, err, got, row.want)
			}
		})
	}
}

func TestAFileWithoutSecretsIsKeptAsItIs(t *testing.T) {
	for _, file := range []string{`{"a": [1.50, "https://h/v1?a=b"], "p99_token": 5}`, "{\"a\":1}\n\n{\"b\":2}\n",
		"a:   1\nb: [x]\n", ""} {
		if got, n, err := scrubbed(t, []byte(file)); n != 0 || err != nil || string(got) != file {
			t.Errorf("%q became %q (%d, %v)", file, got, n, err)
		}
	}
}

func TestWhatCannotBeReadIsNotKept(t *testing.T) {
	for _, file := range []string{`{"a": 1, "api_key": "s3cr`, "{\"a\":1}\n{\"api_key\": \"s3cr\n",
		"a: [\napi_key: s3cret", strings.Repeat("a: 1\n", 1<<20)} {
		if got, _, err := scrubbed(t, []byte(file)); err == nil || len(got) > 0 || strings.Contains(err.Error(), "s3cr") {
			t.Errorf("%.30q: %v, %d bytes", file, err, len(got))
		}
	}
}

func TestALargeFileIsScrubbed(t *testing.T) {
	got, n, err := scrubbed(t, large(8<<20))
	if err != nil || n == 0 || bytes.Contains(got, []byte("s3cret")) {
		t.Errorf("%d values, %v", n, err)
	}
}

// large is a file as GuideLLM leaves it, with a command in every hundredth request.
func large(size int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"benchmarks":[{"requests":{"successful":[`)
	for i := 0; b.Len() < size; i++ {
		command := ""
		if i%100 == 0 {
			command = `,"command":"guidellm --api-key s3cret --target http://h:8000"`
		}
		fmt.Fprintf(&b, `{"request_id":"%d","prompt":"%s","output":"%s","start":%d.25,"itl":[1.5,2.5,3.5,4.5]%s},`, i,
			strings.Repeat("a sentence: of words, with some = signs. ", 8), strings.Repeat(`he said \"no\":\n not at all `, 8),
			1700000000+i, command)
	}
	b.WriteString(`{}]}}]}`)
	return b.Bytes()
}

func BenchmarkScrub(b *testing.B) {
	data := large(50 << 20)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, _, err := scrubbed(b, data); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzScrub(f *testing.F) {
	for _, seed := range []string{`{"headers":{"Authorization":"Bearer x"},"n":1.50}`, "{\"a\":1}\n{\"api_key\":\"k\"}\n",
		`{"request_args":"{\"headers\":{\"a\":\"b\"}}"}`, "api_key: x\n",
		`[["token","x"],{"value":"--api-key y","name":"HF_TOKEN"}]`, "a: &b c\nd: [*b, --token, e] # f\n---\n? [g]\n: h\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		once, _, err := scrubbed(t, data)
		if err != nil {
			return
		}
		if _, _, err := scrubbed(t, once); err != nil {
			t.Errorf("scrubbing %q makes %q, which cannot be read: %v", data, once, err)
		}
	})
}
