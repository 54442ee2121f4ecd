package load_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/load"
	"bflow.dev/bflow/load/tool/aiperf"
	"bflow.dev/bflow/load/tool/guidellm"
	"bflow.dev/bflow/load/tool/inferenceperf"
	"bflow.dev/bflow/load/tool/vllmbench"
)

var tools = []string{load.Native, guidellm.Name, aiperf.Name, inferenceperf.Name, vllmbench.Name}

// FuzzTranslate feeds any YAML to every tool: no panic, and what comes out without an error is JSON.
func FuzzTranslate(f *testing.F) {
	inputs, err := filepath.Glob("testdata/*.input.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, input := range inputs {
		b, err := os.ReadFile(input)
		if err != nil {
			f.Fatal(err)
		}
		for _, doc := range splitDocuments(b) {
			for i := range tools {
				f.Add(doc, byte(i))
			}
		}
	}
	f.Add([]byte("block: &a [*a]"), byte(1))
	f.Add([]byte("block: &a {<<: *a, data: *a}"), byte(0))
	f.Fuzz(func(t *testing.T, doc []byte, which byte) {
		var r row
		if yaml.Unmarshal(doc, &r) != nil {
			return
		}
		r.Tool = tools[int(which)%len(tools)]
		tr, problems := translate(r.source("fuzz.yaml"))
		if problems.Err() != nil {
			return
		}
		if _, err := json.Marshal(tr.Measurement); err != nil {
			t.Errorf("a measurement without an error is no JSON: %v", err)
		}
	})
}

func splitDocuments(b []byte) [][]byte {
	var docs [][]byte
	start := 0
	for i := 0; i+4 <= len(b); i++ {
		if string(b[i:i+4]) == "---\n" {
			docs = append(docs, b[start:i])
			start = i + 4
		}
	}
	return append(docs, b[start:])
}
