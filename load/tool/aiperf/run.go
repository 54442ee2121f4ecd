package aiperf

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/argv"
)

// shim appends the key inside the process, where the list of processes does not show it.
const shim = `import os, sys
sys.argv = ["aiperf", *sys.argv[1:], "--api-key", os.environ.pop("BFLOW_EXTERNAL_KEY")]
from aiperf.cli import app
if __name__ == "__main__":
    sys.exit(app())`

// Command is `aiperf profile`: free keys are flags. A data set of the block is fetched first, as the block may cut it.
func (process) Command(i tool.Invocation, b map[string]any) (tool.Command, error) {
	c := tool.Command{Argv: []string{i.Program, "profile"}}
	if i.Key != "" {
		c.Argv = []string{filepath.Join(filepath.Dir(i.Program), "python"), "-c", shim, "profile"}
		c.Env = append(c.Env, "BFLOW_EXTERNAL_KEY="+i.Key)
	}
	var err error
	if c.Fetch, err = dataOf(i, b); err != nil {
		return tool.Command{}, err
	}
	argv.SetDefault(b, "streaming", true)
	rename(b, "endpoint_path", "endpoint")
	rename(b, "dataset_type", "custom_dataset_type")
	argv.Remove(b, "max_seconds", "output_artifact_dir", "artifact_dir", "api_key", "model", "m", "model_names", "url",
		"u", "ui", "ui_type")
	b["model_names"], b["url"], b["output_artifact_dir"] = i.Model, i.Endpoint, i.Dir
	if level, _ := b["export_level"].(string); level != "raw" {
		b["export_level"] = "records"
	}
	for key, v := range b {
		if values, ok := v.([]any); ok && allNumbers(values) {
			b[key] = strings.Trim(argv.Text(values), "[]") // a sweep is one flag
		}
	}
	c.Argv = append(append(c.Argv, argv.Flags(b)...), "--ui", "none")
	return c, nil
}

// dataOf turns dataset_url and what belongs to it into a file that is fetched.
func dataOf(i tool.Invocation, b map[string]any) (*tool.Fetch, error) {
	url, _ := b["dataset_url"].(string)
	name, _ := b["dataset_name"].(string)
	limit, _ := b["dataset_cap"].(float64)
	argv.Remove(b, "dataset_url", "dataset_name", "dataset_cap")
	if url == "" {
		return nil, nil
	}
	if b["public_dataset"] != nil {
		return nil, errors.New("dataset_url and public_dataset exclude each other")
	}
	if name == "" {
		name = path.Base(url)
	}
	if name != filepath.Base(name) || name == "." || name == ".." {
		return nil, fmt.Errorf("dataset_name %q is not the name of a file", name)
	}
	b["input_file"] = filepath.Join(i.Dir, name)
	argv.SetDefault(b, "fixed_schedule", true)
	if b["fixed_schedule"] == true {
		argv.SetDefault(b, "fixed_schedule_auto_offset", true)
	}
	return &tool.Fetch{URL: url, Name: name, Lines: int(limit)}, nil
}

func allNumbers(values []any) bool {
	return len(values) > 0 && !slices.ContainsFunc(values, func(v any) bool { _, ok := v.(float64); return !ok })
}

func rename(b map[string]any, from, to string) {
	if v, ok := b[from]; ok {
		delete(b, from)
		b[to] = v
	}
}
