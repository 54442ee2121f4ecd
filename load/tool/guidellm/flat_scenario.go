package guidellm

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/tree"
)

// readScenario reads a scenario of 0.4 to 0.6, whose keys are the words. It reports whether the file turned out to be
// one of later words, which is then read as that.
func readScenario(c *tool.CommandLine, in *flatInput, g given, args []string, set settings) bool {
	name := g.value.Value
	n := findBuiltin(c, name)
	if n == nil {
		n = c.File(g.word, name)
	}
	if n == nil {
		return false
	}
	if tree.Child(n, "spec") != nil || tree.Child(n, "metadata") != nil {
		parseScenario(c, n, args, set)
		return true
	}
	if inner := tree.Child(n, "args"); inner != nil && tree.Child(n, "benchmarks") != nil { // a report
		n = inner
	}
	takeScenarioWords(c, in, n)
	return false
}

func takeScenarioWords(c *tool.CommandLine, in *flatInput, n *yaml.Node) {
	names := map[string]string{}
	var known []string
	for _, w := range flatWords() {
		for _, name := range w.Names {
			names[name] = w.Names[0]
			known = append(known, name)
		}
	}
	tree.Keys(n, func(k, v *yaml.Node) {
		name, ok := names[strings.ReplaceAll(k.Value, "-", "_")]
		switch {
		case tree.IsNull(v):
		case k.Value == "rampup_duration":
			in.words["rampup"] = given{value: v, word: c.Word(k.Line), flag: true}
		case !ok:
			reportKey(c, k, known)
		default:
			in.words[name] = given{value: v, word: c.Word(k.Line), flag: true}
		}
	})
}

// reportKey reports a key of a scenario that nobody knows.
func reportKey(c *tool.CommandLine, k *yaml.Node, known []string) {
	c.LeaveOut(c.Word(k.Line), "%q: %s", k.Value, tool.UnknownWord(k.Value, known))
}
