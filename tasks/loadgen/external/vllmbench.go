package external

import (
	"slices"
	"strings"
)

// vllmResult is the file that vllm bench serve writes.
const vllmResult = "result.json"

// vllmBench is `vllm bench serve`: flags with the values of a list behind one flag, as its parser wants them.
func vllmBench(p Plan, b map[string]any) (Command, error) {
	remove(b, "executable", "base_url", "host", "port", "model", "save_result", "save_detailed", "append_result", "result_dir", "result_filename")
	c := Command{Argv: []string{p.Program, "bench", "serve", "--base-url", p.Endpoint, "--model", p.Model}}
	for _, key := range sortedKeys(b) {
		if !slices.Contains([]string{"goodput", "header", "metadata", "lora_modules"}, key) {
			c.Argv = append(c.Argv, flags(map[string]any{key: b[key]})...)
			continue
		}
		c.Argv = append(c.Argv, flagName(key))
		for _, v := range list(b[key]) {
			c.Argv = append(c.Argv, strings.Fields(text(v))...)
		}
	}
	c.Argv = append(c.Argv, "--save-result", "--save-detailed", "--result-dir", p.Dir, "--result-filename", vllmResult)
	if p.Key != "" {
		c.Env = append(c.Env, "OPENAI_API_KEY="+p.Key)
	}
	return c, nil
}
