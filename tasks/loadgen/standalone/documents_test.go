package standalone

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/tasks/loadgen/words"
)

func TestFilesOfVLLMAreNamedAsByTheTool(t *testing.T) {
	for want, result := range map[string]object{
		"openai-20.0qps-m-7B-20261122-004201.json": {"backend": "openai", "request_rate": 20.0, "max_concurrency": nil, "model_id": "org/m-7B",
			"date": "20261122-004201"},
		"openai-chat-0.5qps-concurrency8-m-20261122-004201.json": {"backend": "openai-chat", "request_rate": 0.5, "max_concurrency": 8, "model_id": "m",
			"date": "20261122-004201"},
		"openai-infqps-concurrency1000-m-20261122-004201.json": {"backend": "openai", "request_rate": "inf", "max_concurrency": 1000, "model_id": "m",
			"date": "20261122-004201"},
		"vllm-bench.json": nil,
	} {
		if got := vllmName(result); got != want {
			t.Errorf("%v is named %q, want %q", result, got, want)
		}
	}
}

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

func TestRowsAreTrimmedInEachStatus(t *testing.T) {
	o := output{Output: words.Output{Rows: 2, Extras: map[string]any{"team": "search"}}}
	b := object{"requests": object{"successful": tools.ListOf([]int{1, 2, 3}), "errored": tools.ListOf([]int{1}), "total": nil}, "extras": object{"old": 1}}
	o.trim(b)
	var got bytes.Buffer
	err := tools.JSONLines("", tools.ListOf([]object{b})).Write(t.Context(), &got)
	want := `{"extras":{"old":1,"team":"search"},"requests":{"errored":[1],"successful":[1,2],"total":null}}` + "\n"
	if err != nil || got.String() != want {
		t.Errorf("%s, %v", got.String(), err)
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
