package standalone

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestPercentilesAreChosenInSummariesOnly(t *testing.T) {
	doc := object{"a": object{"mean": 1, "median": 2, "p90": 3, "p99": 4, "p99.9": 5, "prompt": 6}, "p90": 7, "list": []any{object{"mean": 1, "p1": 2}}}
	choosePercentiles(doc, map[string]bool{percentileName(50): true, percentileName(99.9): true})
	if got := slices.Sorted(maps.Keys(doc["a"].(object))); strings.Join(got, " ") != "mean median p99.9 prompt" {
		t.Errorf("keys %q", got)
	}
	if doc["p90"] == nil || len(doc["list"].([]any)[0].(object)) != 1 {
		t.Errorf("%v", doc)
	}
}

func TestYAMLHoldsWhatJSONHolds(t *testing.T) {
	doc := object{"small": json.Number("1e-07"), "text": "1e-07", "no": "no", "empty": []any{}, "null": nil, "lines": "a\nb: c", "int": json.Number("12")}
	data, err := encode(doc, "")
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
	var back object
	if err := yaml.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if back["small"] != 1e-7 || back["text"] != "1e-07" || back["no"] != "no" || back["lines"] != "a\nb: c" || back["int"] != 12 || len(back) != len(doc) {
		t.Errorf("%v of\n%s", back, text)
	}
}
