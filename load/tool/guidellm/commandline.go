package guidellm

import (
	"slices"
	"strings"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/load/tool"
)

// Parse reads the words of GuideLLM: of 0.7 and later where the command is run, where the scenario has a spec or where
// variables name one, else those of 0.3 to 0.6.
func (Tool) Parse(c *tool.CommandLine, args []string) {
	for _, name := range c.Names {
		if hole := problem.Unfilled(c.Env[name], false); strings.HasPrefix(name, "GUIDELLM_") && hole != "" {
			c.Errorf(name, "%s", hole)
		}
	}
	settings := readSettings(c)
	switch {
	case len(args) > 0 && args[0] == "run":
		parseTyped(c, args[1:], settings)
	case len(args) > 0 && args[0] == "benchmark":
		args = args[1:]
		if len(args) > 0 && !tool.IsFlag(args[0]) {
			if args[0] != "run" {
				c.Errorf("guidellm benchmark "+args[0], "only the real tool has this command: want guidellm benchmark run")
				return
			}
			args = args[1:]
		}
		parseFlat(c, args, settings)
	case len(args) > 0 && !tool.IsFlag(args[0]):
		c.Errorf("guidellm "+args[0], "only the real tool has this command: want guidellm benchmark or guidellm run")
	case len(settings.spec) > 0 || hasFlag(args, "--backend", "--constraint", "--config", "-c"):
		parseTyped(c, args, settings)
	default:
		parseFlat(c, args, settings)
	}
}

func hasFlag(args []string, names ...string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		name, _, _ := strings.Cut(a, "=")
		return slices.Contains(names, name)
	})
}
