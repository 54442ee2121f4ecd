package words

import (
	"slices"
	"strings"

	"bflow.dev/bflow/load"
)

// guidellm reads the words of GuideLLM: of 0.7 and later where the command is run, where the scenario has a spec or where
// variables name one, else those of 0.3 to 0.6.
func (p *parser) guidellm(args []string) {
	p.req.Tool = load.GuideLLM
	settings := p.readSettings()
	switch {
	case len(args) > 0 && args[0] == "run":
		p.typed(args[1:], settings)
	case len(args) > 0 && args[0] == "benchmark":
		args = args[1:]
		if len(args) > 0 && !isFlag(args[0]) {
			if args[0] != "run" {
				p.errorf("guidellm benchmark "+args[0], "only the real tool has this command: want guidellm benchmark run")
				return
			}
			args = args[1:]
		}
		p.flat(args, settings)
	case len(args) > 0 && !isFlag(args[0]):
		p.errorf("guidellm "+args[0], "only the real tool has this command: want guidellm benchmark or guidellm run")
	case len(settings.spec) > 0 || hasFlag(args, "--backend", "--constraint", "--config", "-c"):
		p.typed(args, settings)
	default:
		p.flat(args, settings)
	}
}

func hasFlag(args []string, names ...string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		name, _, _ := strings.Cut(a, "=")
		return slices.Contains(names, name)
	})
}
