package guidellm

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/argv"
)

// reportFile is the file that GuideLLM writes.
const reportFile = "benchmarks.json"

// flagOf is the name of GuideLLM 0.8 for a key that blocks also spell otherwise.
func flagOf(key string) string {
	switch key {
	case "constraints", "labels", "data_preprocessors":
		return strings.TrimSuffix(key, "s")
	case "scenario":
		return "config"
	}
	return key
}

// Command is `guidellm run` of 0.7 and 0.8: a flag per key, maps as JSON. The backend holds the API key where there is
// one; it then goes by the environment, which is the same tree.
func (process) Command(i tool.Invocation, b map[string]any) (tool.Command, error) {
	backend, err := backendOf(i, b["backend"])
	if err != nil {
		return tool.Command{}, err
	}
	c := tool.Command{Argv: []string{i.Program, "run"}}
	if i.Key == "" {
		c.Argv = append(c.Argv, "--backend", argv.Text(backend))
	} else {
		backend["api_key"] = i.Key
		c.Env = append(c.Env, "GUIDELLM__SPEC__BACKEND="+argv.Text(backend))
	}
	overrides, err := overridesOf(b)
	if err != nil {
		return tool.Command{}, err
	}
	labels := labelsOf(b)
	argv.Remove(b, "backend", "override", "overrides", "label", "labels", "output", "outputs", "output_path", "output_dir",
		"target", "model", "disable_console", "disable_console_outputs", "disable_progress", "disable_console_interactive")
	for _, key := range argv.SortedKeys(b) {
		for _, v := range argv.List(b[key]) {
			c.Argv = append(c.Argv, argv.FlagName(flagOf(key)), argv.Text(spellKind(key, v)))
		}
	}
	c.Argv = append(append(c.Argv, labels...), overrides...)
	output := map[string]any{"kind": "json", "path": filepath.Join(i.Dir, reportFile)}
	c.Argv = append(c.Argv, "--output", argv.Text(output), "--disable-console-interactive")
	return c, nil
}

// spellKind spells the short forms of a block out, which the tool's flags do not all know.
func spellKind(key string, v any) any {
	word, isWord := v.(string)
	isWord = isWord && !strings.ContainsAny(word, "={")
	switch key {
	case "seed":
		if n, ok := v.(float64); ok {
			return map[string]any{"kind": "static", "value": n}
		}
	case "tokenizer":
		if isWord {
			return map[string]any{"kind": "huggingface_auto", "model": word}
		}
	case "profile", "data_loader", "data_column_mapper", "data_finalizer", "metrics":
		if isWord {
			return map[string]any{"kind": word}
		}
	}
	return v
}

// backendOf completes the backend, a map, a word or k=v,k=v, by what the runner knows.
func backendOf(i tool.Invocation, x any) (map[string]any, error) {
	backend := map[string]any{"kind": "openai_http"}
	switch x := x.(type) {
	case nil:
	case map[string]any:
		for k, v := range x {
			backend[k] = v
		}
	case string:
		if !strings.Contains(x, "=") {
			backend["kind"] = x
			break
		}
		for pair := range strings.SplitSeq(x, ",") {
			k, v, ok := strings.Cut(pair, "=")
			if !ok {
				return nil, fmt.Errorf("backend: %q is not key=value", pair)
			}
			backend[strings.TrimSpace(k)] = scalarOf(v)
		}
	default:
		return nil, fmt.Errorf("backend: want a map or text, not %s", argv.Text(x))
	}
	backend["target"], backend["model"] = i.Endpoint, i.Model
	argv.SetDefault(backend, "validate_backend", false) // the server was tested before
	argv.SetDefault(backend, "verify", i.Measurement.API.VerifyTLS)
	return backend, nil
}

func scalarOf(s string) any {
	var v any
	if json.Unmarshal([]byte(s), &v) == nil {
		return v
	}
	return s
}

// overridesOf spells override: a map, or a list of maps or pairs, path: value or values.
func overridesOf(b map[string]any) ([]string, error) {
	var out []string
	for _, key := range []string{"override", "overrides"} {
		for _, o := range pairsIn(b[key]) {
			if o == nil {
				return nil, fmt.Errorf("%s: want a map of paths to values, not %s", key, argv.Text(b[key]))
			}
			for _, path := range argv.SortedKeys(o) {
				var values []string
				for _, v := range argv.List(o[path]) {
					values = append(values, argv.Text(v))
				}
				out = append(out, "--override", path, strings.Join(values, ","))
			}
		}
	}
	return out, nil
}

// pairsIn reads [path, values] as well as {path: values}; what is neither is a nil map.
func pairsIn(x any) []map[string]any {
	if pair, ok := x.([]any); ok && len(pair) == 2 {
		if path, ok := pair[0].(string); ok {
			return []map[string]any{{path: pair[1]}}
		}
	}
	var out []map[string]any
	for _, e := range argv.List(x) {
		if pair, ok := e.([]any); ok {
			out = append(out, pairsIn(pair)...)
			continue
		}
		m, _ := e.(map[string]any)
		out = append(out, m)
	}
	return out
}

func labelsOf(b map[string]any) []string {
	var out []string
	for _, key := range []string{"label", "labels"} {
		for _, l := range argv.List(b[key]) {
			m, ok := l.(map[string]any)
			if !ok {
				out = append(out, "--label", argv.Text(l))
				continue
			}
			for _, k := range argv.SortedKeys(m) {
				out = append(out, "--label", k+"="+argv.Text(m[k]))
			}
		}
	}
	return out
}
