package load

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"bflow.dev/bflow/internal/credential"
	"bflow.dev/bflow/runplan"
)

// toTool hands the block over as it is, but for credentials and what the runner owns.
func (t *translator) toTool() {
	if t.m.Tool == Native || t.m.Tool == InferenceMAX {
		t.block.errorf("tool_runner external needs a tool other than %s", t.m.Tool)
		return
	}
	t.m.Runner, t.m.Venv = RunnerExternal, t.src.Venv
	block, _ := t.block.any().(map[string]any)
	if block == nil { // an error is already reported
		return
	}
	t.overrideTool(block)
	t.m.External, _ = t.scrub("", block)
}

// scrub drops credentials and what the runner sets, at every depth; false means that x itself, which is at path, is to be
// dropped. It tells of credentials that go nowhere else.
func (t *translator) scrub(path string, x any) (any, bool) {
	switch x := x.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(x)) {
			at := strings.TrimPrefix(path+"."+k, ".")
			if credential.Name(k) {
				t.leftOut(at, x[k])
				delete(x, k)
				continue
			}
			kept, ok := t.scrub(at, x[k])
			if !ok || isOwned(k) {
				delete(x, k)
				continue
			}
			x[k] = kept
		}
		return x, true
	case []any:
		out := make([]any, 0, len(x))
		for i, v := range x {
			if kept, ok := t.scrub(path+"["+strconv.Itoa(i)+"]", v); ok {
				out = append(out, kept)
			}
		}
		return out, true
	case string:
		return x, !t.isKey(x)
	default:
		return x, true
	}
}

// isKey says whether a text holds the API key, which the runner gives to the tool.
func (t *translator) isKey(text string) bool {
	return t.secret != nil && strings.Contains(text, t.secret.Value)
}

// leftOut tells of a credential that the tool would miss.
func (t *translator) leftOut(path string, x any) {
	if text, ok := x.(string); x == nil || ok && (text == "" || t.isKey(text)) {
		return
	}
	t.block.notef("%s is a credential, which no plan holds: the tool runs without it, unless load.env names a variable of a Secret that it reads", path)
}

func isOwned(key string) bool {
	switch key {
	case "target", "base_url", "url", "output_path", "output_dir", "local_storage", "output_artifact_dir", "result_dir", "result_filename":
		return true
	}
	return false
}

// overrideTool writes the experiment's overrides into a block that the real tool will read.
func (t *translator) overrideTool(block map[string]any) {
	set := func(key string, v value) {
		if v.set() {
			block[key] = v.any()
		}
	}
	switch t.m.Tool {
	case GuideLLM:
		t.overrideGuide(block)
	case AIPerf:
		set("endpoint_type", t.over.requestType)
		set("benchmark_duration", t.over.maxSeconds)
		set("request_count", t.over.maxRequests)
	case VLLMBench:
		if t.over.maxRequests.set() {
			delete(block, "num_prompts")
			set("num-prompts", t.over.maxRequests)
		}
	case InferencePerf:
		if api, ok := block["api"].(map[string]any); ok && t.over.requestType.set() {
			api["type"] = map[string]string{runplan.APICompletions: "completion", runplan.APIMessages: "anthropic_messages"}[t.m.API.Type]
			if api["type"] == "" {
				api["type"] = t.m.API.Type
			}
		}
	}
}
