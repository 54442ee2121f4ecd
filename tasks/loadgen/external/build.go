package external

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"bflow.dev/bflow/load"
	"bflow.dev/bflow/runplan"
)

// Plan is what a tool is told, and where.
type Plan struct {
	Measurement *runplan.Measurement
	Model       string // served name
	Endpoint    string // base URL
	Program     string // of the tool, absolute
	Dir         string // folder for everything that the tool writes, absolute
	Key         string // API key of the server, "" = none; never part of Command.Argv
}

// Command is one run of a tool.
type Command struct {
	Argv  []string
	Env   []string // NAME=value, on top of what the process inherits
	Files []File   // written before it starts
	Fetch *Fetch   // a data set that it reads
	// WarmUp is load that nobody looks at: its results are not imported.
	WarmUp bool
}

// File lies in Plan.Dir.
type File struct {
	Name   string
	Data   []byte
	Secret bool // readable by the owner alone, and removed when the tool has ended
}

// Fetch is a file to download into Plan.Dir before the tool starts.
type Fetch struct {
	URL   string
	Name  string
	Lines int // that are kept, blank ones not counted; 0 = all
}

// Build returns the runs of the tool that carry out p, in order: a warm-up where the plan has one, then the load.
func Build(p Plan) ([]Command, error) {
	whole, err := block(p.Measurement.External)
	if err != nil {
		return nil, err
	}
	if at := template("", whole); at != "" {
		return nil, fmt.Errorf("%s is a multiple of the concurrency, which only the native generator computes: write the number, or set tool_runner: native", at)
	}
	build := map[string]func(Plan, map[string]any) (Command, error){
		load.GuideLLM: guideLLM, load.InferencePerf: inferencePerf, load.AIPerf: aiPerf, load.VLLMBench: vllmBench,
	}[p.Measurement.Tool]
	if build == nil {
		return nil, fmt.Errorf("tool %q is not one that can run in place of load-gen", p.Measurement.Tool)
	}
	var out []Command
	if warm, ok := warmUp(whole); ok {
		c, err := build(p, warm)
		if err != nil {
			return nil, fmt.Errorf("pre_warmup: %w", err)
		}
		c.WarmUp = true
		out = append(out, c)
	}
	c, err := build(p, whole)
	if err != nil {
		return nil, err
	}
	return append(out, c), nil
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
		for _, k := range sortedKeys(x) {
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
