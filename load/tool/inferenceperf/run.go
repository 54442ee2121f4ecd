package inferenceperf

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/argv"
)

// configFile is the file that inference-perf reads; JSON is YAML.
const configFile = "input.yaml"

// Command is the block as a config file, with the server, the storage and every report that the import reads. The
// API key has no other place in this tool than that file.
func (process) Command(i tool.Invocation, b map[string]any) (tool.Command, error) {
	server := argv.Child(b, "server")
	argv.SetDefault(server, "type", "vllm")
	server["model_name"], server["base_url"] = i.Model, i.Endpoint
	if i.Key != "" {
		server["api_key"] = i.Key
	}
	argv.SetDefault(argv.Child(b, "tokenizer"), "pretrained_model_name_or_path", i.Model)
	b["storage"] = map[string]any{"local_storage": map[string]any{"path": i.Dir}}
	lifecycle := argv.Child(argv.Child(b, "report"), "request_lifecycle")
	for _, kind := range []string{"summary", "per_stage", "per_request"} {
		lifecycle[kind] = true
	}
	spellStdDev(b)
	data, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return tool.Command{}, fmt.Errorf("writing the config of inference-perf: %w", err)
	}
	return tool.Command{
		Argv:  []string{i.Program, "-c", filepath.Join(i.Dir, configFile)},
		Files: []tool.File{{Name: configFile, Data: append(data, '\n'), Secret: i.Key != ""}},
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
			argv.SetDefault(x, "std_dev", std)
			delete(x, "std")
		}
		for _, v := range x {
			spellStdDev(v)
		}
	}
}
