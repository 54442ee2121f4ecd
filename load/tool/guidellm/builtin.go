package guidellm

import (
	"embed"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/load/tool"
)

// scenarios are those that the tool itself comes with: in the words of 0.4 to 0.6, or in those of 0.7 and later.
//
//go:embed scenarios
var scenarios embed.FS

// findBuiltin is a scenario that the tool itself comes with, nil where there is none of this name.
func findBuiltin(c *tool.CommandLine, name string) *yaml.Node {
	text, err := scenarios.ReadFile("scenarios/" + strings.TrimPrefix(name, "rhaiis/") + ".yaml")
	if err != nil {
		return nil
	}
	word := "scenario " + name
	n, err := tool.ParseYAML(text)
	if err != nil {
		c.Errorf(word, "%v", err)
		return nil
	}
	c.Mark(n, func(*yaml.Node) string { return word })
	return n
}
