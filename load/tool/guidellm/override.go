package guidellm

import (
	"slices"

	"bflow.dev/bflow/load/tool"
)

// Override writes the experiment's overrides into a guidellm block that the real tool will read.
func (process) Override(d *tool.Draft, block map[string]any) {
	if d.Over.RequestType.IsSet() {
		backend, ok := block["backend"].(map[string]any)
		if !ok {
			backend = map[string]any{"kind": "openai_http"}
		}
		backend["request_format"] = tool.RequestPath(d.API.Type)
		block["backend"] = backend
	}
	if d.Over.Rates.IsSet() {
		overrideRates(d, block)
	}
	if d.Over.MaxSeconds.IsSet() {
		replaceConstraint(block, map[string]any{"kind": "max_duration", "seconds": d.Over.MaxSeconds.Any()})
	}
	if d.Over.MaxRequests.IsSet() {
		replaceConstraint(block, map[string]any{"kind": "max_requests", "count": d.Over.MaxRequests.Any()})
	}
}

func overrideRates(d *tool.Draft, block map[string]any) {
	kind := "concurrent"
	if profile, ok := block["profile"].(map[string]any); ok {
		kind, _ = profile["kind"].(string)
	} else if word, ok := block["profile"].(string); ok {
		kind = word
	}
	field := "streams"
	switch kind {
	case "constant", "async", "poisson":
		field = "rate"
	case "throughput":
		field = "max_concurrency"
	}
	delete(block, "overrides")
	block["override"] = map[string]any{"profile." + field: d.Over.Rates.Any()}
}

// replaceConstraint drops the constraints of c's kind and appends c.
func replaceConstraint(block map[string]any, c map[string]any) {
	key := "constraint"
	if _, ok := block["constraints"]; ok {
		key = "constraints"
	}
	list, ok := block[key].([]any)
	if one, isMap := block[key].(map[string]any); isMap {
		list, ok = []any{one}, true
	}
	if ok {
		list = slices.DeleteFunc(list, func(x any) bool {
			have, _ := x.(map[string]any)
			return have["kind"] == c["kind"]
		})
	}
	block[key] = append(list, c)
}
