package external

import (
	"encoding/json"
	"fmt"
	"path/filepath"
)

// inferenceConfig is the file that inference-perf reads; JSON is YAML.
const inferenceConfig = "input.yaml"

// inferencePerf is the block as a config file, with the server, the storage and every report that the import reads. The
// API key has no other place in this tool than that file.
func inferencePerf(p Plan, b map[string]any) (Command, error) {
	server := child(b, "server")
	setDefault(server, "type", "vllm")
	server["model_name"], server["base_url"] = p.Model, p.Endpoint
	if p.Key != "" {
		server["api_key"] = p.Key
	}
	setDefault(child(b, "tokenizer"), "pretrained_model_name_or_path", p.Model)
	b["storage"] = map[string]any{"local_storage": map[string]any{"path": p.Dir}}
	lifecycle := child(child(b, "report"), "request_lifecycle")
	for _, kind := range []string{"summary", "per_stage", "per_request"} {
		lifecycle[kind] = true
	}
	spellStdDev(b)
	data, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return Command{}, fmt.Errorf("writing the config of inference-perf: %w", err)
	}
	return Command{
		Argv:  []string{p.Program, "-c", filepath.Join(p.Dir, inferenceConfig)},
		Files: []File{{Name: inferenceConfig, Data: append(data, '\n'), Secret: p.Key != ""}},
	}, nil
}

// spellStdDev corrects std, which versions before 0.7 read over and this one refuses.
func spellStdDev(x any) {
	switch x := x.(type) {
	case []any:
		for _, v := range x {
			spellStdDev(v)
		}
	case map[string]any:
		if std, ok := x["std"]; ok {
			setDefault(x, "std_dev", std)
			delete(x, "std")
		}
		for _, v := range x {
			spellStdDev(v)
		}
	}
}
