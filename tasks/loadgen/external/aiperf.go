package external

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// aiperfShim appends the key inside the process, where the list of processes does not show it.
const aiperfShim = `import os, sys
sys.argv = ["aiperf", *sys.argv[1:], "--api-key", os.environ.pop("BFLOW_EXTERNAL_KEY")]
from aiperf.cli import app
if __name__ == "__main__":
    sys.exit(app())`

// aiPerf is `aiperf profile`: free keys are flags. A data set of the block is fetched first, as the block may cut it.
func aiPerf(p Plan, b map[string]any) (Command, error) {
	c := Command{Argv: []string{p.Program, "profile"}}
	if p.Key != "" {
		c.Argv = []string{filepath.Join(filepath.Dir(p.Program), "python"), "-c", aiperfShim, "profile"}
		c.Env = append(c.Env, "BFLOW_EXTERNAL_KEY="+p.Key)
	}
	var err error
	if c.Fetch, err = aiperfData(p, b); err != nil {
		return Command{}, err
	}
	setDefault(b, "streaming", true)
	rename(b, "endpoint_path", "endpoint")
	rename(b, "dataset_type", "custom_dataset_type")
	remove(b, "max_seconds", "output_artifact_dir", "artifact_dir", "api_key", "model", "m", "model_names", "url", "u", "ui", "ui_type")
	b["model_names"], b["url"], b["output_artifact_dir"] = p.Model, p.Endpoint, p.Dir
	if level, _ := b["export_level"].(string); level != "raw" {
		b["export_level"] = "records"
	}
	for key, v := range b {
		if values, ok := v.([]any); ok && allNumbers(values) {
			b[key] = strings.Trim(text(values), "[]") // a sweep is one flag
		}
	}
	c.Argv = append(append(c.Argv, flags(b)...), "--ui", "none")
	return c, nil
}

// aiperfData turns dataset_url and what belongs to it into a file that is fetched.
func aiperfData(p Plan, b map[string]any) (*Fetch, error) {
	url, _ := b["dataset_url"].(string)
	name, _ := b["dataset_name"].(string)
	limit, _ := b["dataset_cap"].(float64)
	remove(b, "dataset_url", "dataset_name", "dataset_cap")
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
	b["input_file"] = filepath.Join(p.Dir, name)
	setDefault(b, "fixed_schedule", true)
	if b["fixed_schedule"] == true {
		setDefault(b, "fixed_schedule_auto_offset", true)
	}
	return &Fetch{URL: url, Name: name, Lines: int(limit)}, nil
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
