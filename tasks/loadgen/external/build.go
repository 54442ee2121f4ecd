package external

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/argv"
	"bflow.dev/bflow/load/tool/registry"
)

// Build returns the runs of the tool that carry out a measurement, in order: a warm-up where the plan has one, then the
// load.
func Build(i tool.Invocation) ([]tool.Command, error) { return build(registry.All(), i) }

func build(tools registry.Tools, i tool.Invocation) ([]tool.Command, error) {
	whole, err := block(i.Measurement.External)
	if err != nil {
		return nil, err
	}
	if at := template("", whole); at != "" {
		return nil,
			fmt.Errorf(
				"%s is a multiple of the concurrency, which only the native generator computes: write the number, or set "+
					"tool_runner: native", at)
	}
	own, err := runnable(tools, i.Measurement.Tool)
	if err != nil {
		return nil, err
	}
	var out []tool.Command
	if warm, ok := warmUp(whole); ok {
		c, err := own.External().Command(i, warm)
		if err != nil {
			return nil, fmt.Errorf("pre_warmup: %w", err)
		}
		c.WarmUp = true
		out = append(out, c)
	}
	c, err := own.External().Command(i, whole)
	if err != nil {
		return nil, err
	}
	return append(out, c), nil
}

// runnable returns the tool of a name, if it can make a load itself.
func runnable(tools registry.Tools, name string) (tool.Tool, error) {
	if t, ok := tools.Find(name); ok && t.External() != nil {
		return t, nil
	}
	return nil, fmt.Errorf("tool %q is not one that can run in place of load-gen", name)
}

// block copies the tool's own block with "_" for "-" in the names of its first level.
func block(external any) (map[string]any, error) {
	data, err := json.Marshal(external)
	if err != nil {
		return nil, fmt.Errorf("reading the block of the tool: %w", err)
	}
	var raw map[string]any
	if err := json.Unmarshal(data, &raw); err != nil || raw == nil {
		return nil, errors.New("reading the block of the tool: it is not a map of settings")
	}
	out := make(map[string]any, len(raw))
	for k, v := range raw {
		name := strings.ReplaceAll(k, "-", "_")
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("reading the block of the tool: %q is there twice, with - and with _", name)
		}
		out[name] = v
	}
	return out, nil
}

// template returns the path of the first text that multiplies the concurrency.
func template(path string, x any) string {
	switch x := x.(type) {
	case string:
		if strings.Contains(strings.ToLower(x), "*concurrency") {
			return path
		}
	case []any:
		for i, v := range x {
			if at := template(fmt.Sprintf("%s[%d]", path, i), v); at != "" {
				return at
			}
		}
	case map[string]any:
		for _, k := range argv.SortedKeys(x) {
			if at := template(strings.TrimPrefix(path+"."+k, "."), x[k]); at != "" {
				return at
			}
		}
	}
	return ""
}

// warmUp takes pre_warmup out of the block and returns the block of that stage: the same with its keys replaced.
func warmUp(whole map[string]any) (map[string]any, bool) {
	pre, ok := whole["pre_warmup"].(map[string]any)
	delete(whole, "pre_warmup")
	if enabled, said := pre["enabled"].(bool); !ok || said && !enabled {
		return nil, false
	}
	warm := maps.Clone(whole)
	for k, v := range pre {
		switch k {
		case "enabled":
		case "rate", "rates":
			delete(warm, "overrides")
			warm["override"] = map[string]any{"profile." + loadField(warm): v}
		default:
			warm[strings.ReplaceAll(k, "-", "_")] = v
		}
	}
	return warm, true
}

// loadField is the field of a GuideLLM profile that holds the load.
func loadField(b map[string]any) string {
	kind, _ := b["profile"].(string)
	if p, ok := b["profile"].(map[string]any); ok {
		kind, _ = p["kind"].(string)
	}
	switch kind {
	case "constant", "async", "poisson":
		return "rate"
	case "throughput":
		return "max_concurrency"
	}
	return "streams"
}
