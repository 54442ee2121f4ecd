package external

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
)

// guideReport is the file that GuideLLM writes.
const guideReport = "benchmarks.json"

// guideFlag is the name of GuideLLM 0.8 for a key that blocks also spell otherwise.
func guideFlag(key string) string {
	switch key {
	case "constraints", "labels", "data_preprocessors":
		return strings.TrimSuffix(key, "s")
	case "scenario":
		return "config"
	}
	return key
}

// guideLLM is `guidellm run` of 0.7 and 0.8: a flag per key, maps as JSON. The backend holds the API key where there is
// one; it then goes by the environment, which is the same tree.
func guideLLM(p Plan, b map[string]any) (Command, error) {
	backend, err := guideBackend(p, b["backend"])
	if err != nil {
		return Command{}, err
	}
	c := Command{Argv: []string{p.Program, "run"}}
	if p.Key == "" {
		c.Argv = append(c.Argv, "--backend", text(backend))
	} else {
		backend["api_key"] = p.Key
		c.Env = append(c.Env, "GUIDELLM__SPEC__BACKEND="+text(backend))
	}
	overrides, err := guideOverrides(b)
	if err != nil {
		return Command{}, err
	}
	labels := guideLabels(b)
	remove(b, "backend", "override", "overrides", "label", "labels", "output", "outputs", "output_path", "output_dir", "target", "model",
		"disable_console", "disable_console_outputs", "disable_progress", "disable_console_interactive")
	for _, key := range sortedKeys(b) {
		for _, v := range list(b[key]) {
			c.Argv = append(c.Argv, flagName(guideFlag(key)), text(guideKind(key, v)))
		}
	}
	c.Argv = append(append(c.Argv, labels...), overrides...)
	output := map[string]any{"kind": "json", "path": filepath.Join(p.Dir, guideReport)}
	c.Argv = append(c.Argv, "--output", text(output), "--disable-console-interactive")
	return c, nil
}

// guideKind spells the short forms of a block out, which the tool's flags do not all know.
func guideKind(key string, v any) any {
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

// guideBackend completes the backend, a map, a word or k=v,k=v, by what the runner knows.
func guideBackend(p Plan, x any) (map[string]any, error) {
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
			backend[strings.TrimSpace(k)] = guideScalar(v)
		}
	default:
		return nil, fmt.Errorf("backend: want a map or text, not %s", text(x))
	}
	backend["target"], backend["model"] = p.Endpoint, p.Model
	setDefault(backend, "validate_backend", false) // the server was tested before
	setDefault(backend, "verify", p.Measurement.API.VerifyTLS)
	return backend, nil
}

func guideScalar(s string) any {
	var v any
	if json.Unmarshal([]byte(s), &v) == nil {
		return v
	}
	return s
}

// guideOverrides spells override: a map, or a list of maps or pairs, path: value or values.
func guideOverrides(b map[string]any) ([]string, error) {
	var out []string
	for _, key := range []string{"override", "overrides"} {
		for _, o := range guidePairs(b[key]) {
			if o == nil {
				return nil, fmt.Errorf("%s: want a map of paths to values, not %s", key, text(b[key]))
			}
			for _, path := range sortedKeys(o) {
				var values []string
				for _, v := range list(o[path]) {
					values = append(values, text(v))
				}
				out = append(out, "--override", path, strings.Join(values, ","))
			}
		}
	}
	return out, nil
}

// guidePairs reads [path, values] as well as {path: values}; what is neither is a nil map.
func guidePairs(x any) []map[string]any {
	if pair, ok := x.([]any); ok && len(pair) == 2 {
		if path, ok := pair[0].(string); ok {
			return []map[string]any{{path: pair[1]}}
		}
	}
	var out []map[string]any
	for _, e := range list(x) {
		if pair, ok := e.([]any); ok {
			out = append(out, guidePairs(pair)...)
			continue
		}
		m, _ := e.(map[string]any)
		out = append(out, m)
	}
	return out
}

func guideLabels(b map[string]any) []string {
	var out []string
	for _, key := range []string{"label", "labels"} {
		for _, l := range list(b[key]) {
			m, ok := l.(map[string]any)
			if !ok {
				out = append(out, "--label", text(l))
				continue
			}
			for _, k := range sortedKeys(m) {
				out = append(out, "--label", k+"="+text(m[k]))
			}
		}
	}
	return out
}
