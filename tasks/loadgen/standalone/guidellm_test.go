package standalone

import (
	"encoding/json"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestYAMLHoldsWhatJSONHolds(t *testing.T) {
	doc := map[string]any{"small": json.Number("1e-07"), "text": "1e-07", "no": "no", "empty": []any{}, "null": nil,
		"lines": "a\nb: c", "int": json.Number("12")}
	data, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	text, err := asYAML(data)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "small: 1.0e-07\n") {
		t.Errorf("readers of YAML 1.1 need a point:\n%s", text)
	}
	var back map[string]any
	if err := yaml.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if back["small"] != 1e-7 || back["text"] != "1e-07" || back["no"] != "no" || back["lines"] != "a\nb: c" ||
		back["int"] != 12 || len(back) != len(doc) {
		t.Errorf("%v of\n%s", back, text)
	}
}
