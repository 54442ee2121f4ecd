package vllmbench

import (
	"slices"
	"strings"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/argv"
)

// resultFile is the file that vllm bench serve writes.
const resultFile = "result.json"

// Command is `vllm bench serve`: flags with the values of a list behind one flag, as its parser wants them.
func (process) Command(i tool.Invocation, b map[string]any) (tool.Command, error) {
	argv.Remove(b, "executable", "base_url", "host", "port", "model", "save_result", "save_detailed", "append_result",
		"result_dir", "result_filename")
	c := tool.Command{Argv: []string{i.Program, "bench", "serve", "--base-url", i.Endpoint, "--model", i.Model}}
	for _, key := range argv.SortedKeys(b) {
		if !slices.Contains([]string{"goodput", "header", "metadata", "lora_modules"}, key) {
			c.Argv = append(c.Argv, argv.Flags(map[string]any{key: b[key]})...)
			continue
		}
		c.Argv = append(c.Argv, argv.FlagName(key))
		for _, v := range argv.List(b[key]) {
			c.Argv = append(c.Argv, strings.Fields(argv.Text(v))...)
		}
	}
	c.Argv = append(c.Argv, "--save-result", "--save-detailed", "--result-dir", i.Dir, "--result-filename", resultFile)
	if i.Key != "" {
		c.Env = append(c.Env, "OPENAI_API_KEY="+i.Key)
	}
	return c, nil
}
