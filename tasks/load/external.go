package load

import (
	"strings"

	"bflow.dev/bflow/internal/credential"
	"bflow.dev/bflow/tasks/runplan"
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
	t.m.External, _ = t.scrub(block)
}

// scrub drops credentials and what the runner sets, at every depth; false means that x itself is to be dropped.
func (t *translator) scrub(x any) (any, bool) {
	switch x := x.(type) {
	case map[string]any:
		for k, v := range x {
			kept, ok := t.scrub(v)
			if !ok || credential.Name(k) || isOwned(k) {
				delete(x, k)
				continue
			}
			x[k] = kept
		}
		return x, true
	case []any:
		out := make([]any, 0, len(x))
		for _, v := range x {
			if kept, ok := t.scrub(v); ok {
				out = append(out, kept)
			}
		}
		return out, true
	case string:
		return x, t.secret == nil || !strings.Contains(x, t.secret.Value)
	default:
		return x, true
	}
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
