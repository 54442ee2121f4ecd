package opensearch

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/report/tools/structtest"
)

const golden = "../../export/testdata/golden/"

// TestDocumentsAreReadWhole: the format is ours, and an index gives back what it was given.
func TestDocumentsAreReadWhole(t *testing.T) {
	for path, least := range map[string]int{
		"opensearch/opensearch.ndjson":           10,
		"opensearch-bulk/opensearch-bulk.ndjson": 20,
	} {
		data, err := os.ReadFile(golden + path)
		if err != nil {
			t.Fatal(err)
		}
		var all []any
		for line := range bytes.Lines(data) {
			all = append(all, read(t, path, line))
		}
		if got := structtest.Written(t, tools.JSONLines("", tools.StreamOf(all))); !bytes.Equal(got, data) ||
			len(all) < least {
			t.Errorf("%d lines of %s:\n%s\nwant\n%s", len(all), path, got, data)
		}
	}
}

// read returns the struct of a line with all that the line holds.
func read(t *testing.T, path string, line []byte) any {
	t.Helper()
	var kind struct {
		DocType string `json:"doc_type"`
	}
	decode(t, line, &kind)
	doc := tools.Document{Path: path, Data: line}
	switch kind.DocType {
	case "summary":
		var d summaryDoc
		decode(t, line, &d)
		free, err := tools.DecodeFree(doc, d)
		if err != nil {
			t.Fatal(err)
		}
		d.Parts = map[string]float64{}
		for name, raw := range free {
			var v float64
			decode(t, raw, &v)
			d.Parts[name] = v
		}
		return &d
	case "request":
		var d requestDoc
		decode(t, line, &d)
		return &d
	}
	var a action
	decode(t, line, &a)
	return a
}

func decode(t *testing.T, data []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

func TestTheTemplateIsReadWhole(t *testing.T) {
	data, err := os.ReadFile(golden + "opensearch-template/opensearch-template.json")
	if err != nil {
		t.Fatal(err)
	}
	var template indexTemplate
	decode(t, data, &template)
	if got := structtest.Written(t, tools.JSON("", template)); !bytes.Equal(got, data) {
		t.Errorf("%s\nwant\n%s", got, data)
	}
}
