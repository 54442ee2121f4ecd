package guidellm

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/tree"
)

// typedFlags are the flags of 0.7 and later with the key of the scenario's spec that they are.
func typedFlags() map[string]string {
	return map[string]string{
		"backend": "backend", "profile": "profile", "constraint": "constraints", "constraints": "constraints",
		"tokenizer": "tokenizer", "data": "data", "data-loader": "data_loader", "data-column-mapper": "data_column_mapper",
		"data-preprocessor": "data_preprocessors", "data-preprocessors": "data_preprocessors",
		"data-finalizer": "data_finalizer", "seed": "seed", "output": "outputs", "outputs": "outputs", "metrics": "metrics",
	}
}

// repeated are the keys of spec that are lists: a flag adds an entry.
func repeated(key string) bool {
	return key == "constraints" || key == "data" || key == "data_preprocessors" || key == "outputs"
}

// scenario is what 0.7 and later are told: labels, spec, and what differs between its benchmarks.
type scenario struct {
	spec, labels, override *yaml.Node
}

// parseTyped reads the words of 0.7 and later.
func parseTyped(c *tool.CommandLine, args []string, set settings) { parseScenario(c, nil, args, set) }

// parseScenario reads them over a scenario that is there already, or the one that a flag names.
func parseScenario(c *tool.CommandLine, file *yaml.Node, args []string, set settings) {
	c.Request.Generation = "0.7"
	warnOfVariables(c)
	flags := readTypedFlags(c, args)
	s := scenario{spec: tree.Mapping(), labels: tree.Mapping(), override: tree.Mapping()}
	putFlags(c, &s, flags)
	if value, word, ok := tool.LastFlag(flags, "config", "scenario", "c"); ok {
		if file = findBuiltin(c, value); file == nil {
			file = c.File(word, value)
		}
	}
	if file != nil {
		underlay(c, &s, file)
	}
	if variables := readSpecVariables(c, set); variables != nil {
		underlay(c, &s, variables)
	}
	settingsCount(c, "0.7", set)
	buildTypedBlock(c, &s, set)
}

// warnOfVariables warns of the variables of older words, which these do not read.
func warnOfVariables(c *tool.CommandLine) {
	for _, name := range c.Names {
		if strings.HasPrefix(name, "GUIDELLM_") && !strings.HasPrefix(name, settingsPrefix) {
			c.Warnf(name, "has no effect: GuideLLM 0.7 and later read GUIDELLM__SPEC__ variables only")
		}
	}
}

func readTypedFlags(c *tool.CommandLine, args []string) []tool.Flag {
	arities := tool.Arities(
		"label l config scenario c disable-console! disable-console-outputs! disable-console-interactive! disable-progress!")
	arities["override"] = tool.Paired
	for name := range typedFlags() {
		arities[name] = tool.One
	}
	return c.ReadTable(args, arities)
}

// putFlags writes the flags into s.
func putFlags(c *tool.CommandLine, s *scenario, flags []tool.Flag) {
	for _, f := range flags {
		switch key, ok := typedFlags()[f.Name]; {
		case ok && repeated(key):
			if n := parseTypedValue(c, f.Word, f.Values[0]); n != nil {
				c.AddToList(s.spec, f.Word, key, n)
			} else {
				c.AddToList(s.spec, f.Word, key)
			}
		case ok:
			tree.Put(s.spec, parseTypedValue(c, f.Word, f.Values[0]), key)
		case f.Name == "label" || f.Name == "l":
			if k, v, ok := strings.Cut(f.Values[0], "="); ok {
				tree.Put(s.labels, c.Text(f.Word, v), k)
			} else {
				c.Errorf(f.Word, "want NAME=VALUE, found %q", f.Values[0])
			}
		case f.Name == "override":
			tree.Put(s.override, c.JSON(f.Word, f.Values[1]), f.Values[0])
		case strings.HasPrefix(f.Name, "disable"):
			c.Request.Quiet = true
		}
	}
}

// parseTypedValue is the mapping that a typed flag stands for: JSON, k=v pairs or a kind.
func parseTypedValue(c *tool.CommandLine, word, text string) *yaml.Node {
	n := c.JSON(word, text)
	if n == nil || n.Kind != yaml.ScalarNode {
		return n
	}
	if n = tool.Mapping(n); n == nil {
		c.Errorf(word, "want kind=...,key=value or JSON") // without what was found: it may hold a key
		return nil
	}
	return unfold(n)
}

// unfold turns dotted keys of k=v pairs into mappings, and lists in square brackets into lists.
func unfold(n *yaml.Node) *yaml.Node {
	out := tree.Mapping()
	out.Line, out.Column = n.Line, n.Column
	tree.Keys(n, func(k, v *yaml.Node) {
		if text := strings.TrimSpace(v.Value); strings.HasPrefix(text, "[") {
			if parsed, err := tool.ParseYAML([]byte(text)); err == nil {
				relocate(parsed, v.Line)
				v = parsed
			}
		}
		tree.Put(out, v, strings.Split(k.Value, ".")...)
	})
	return out
}

func relocate(n *yaml.Node, line int) {
	n.Line, n.Column = line, 1
	for _, c := range n.Content {
		relocate(c, line)
	}
}

// underlay puts a scenario file, or a report of one, under what was said so far.
func underlay(c *tool.CommandLine, s *scenario, file *yaml.Node) {
	if config := tree.Child(file, "config"); config != nil {
		file = config // a report holds its scenario; where that run was written is its own business
		tree.Take(file, "spec", "outputs")
	}
	tree.Keys(file, func(k, v *yaml.Node) {
		switch k.Value {
		case "metadata", "spec", "benchmarks":
		default:
			reportKey(c, k, []string{"metadata", "spec", "benchmarks"})
		}
	})
	tree.Fill(s.labels, tree.At(file, "metadata", "labels"))
	spec := tree.Child(file, "spec")
	readBenchmarks(c, s, spec, tree.Child(file, "benchmarks"))
	if spec != nil && spec.Kind != yaml.MappingNode {
		c.Errorf(c.Word(spec.Line), "want a mapping as spec")
		return
	}
	tree.Fill(s.spec, spec)
	s.settle()
}

// inConstraint is a path to a field of one constraint, in either spelling.
var inConstraint = regexp.MustCompile(`^constraints?(?:\[(\d{1,3})\]|\.(\d{1,3}))\.(\w+)$`)

// settle moves values that differ between benchmarks into the constraints where they belong: a list there is one value
// per benchmark.
func (s *scenario) settle() {
	constraints := tree.Child(s.spec, "constraints")
	if constraints == nil || constraints.Kind != yaml.SequenceNode {
		return
	}
	for i := 0; i+1 < len(s.override.Content); {
		m := inConstraint.FindStringSubmatch(s.override.Content[i].Value)
		if m == nil {
			i += 2
			continue
		}
		n, _ := strconv.Atoi(m[1] + m[2]) // at most three digits
		if n >= len(constraints.Content) {
			i += 2
			continue
		}
		tree.Put(constraints.Content[n], s.override.Content[i+1], m[3])
		s.override.Content = slices.Delete(s.override.Content, i, i+2)
	}
}

// readBenchmarks turns the list of what differs into lists of values by path.
func readBenchmarks(c *tool.CommandLine, s *scenario, spec, entries *yaml.Node) {
	if entries == nil || entries.Kind != yaml.SequenceNode || len(s.override.Content) > 0 {
		return
	}
	for _, e := range entries.Content {
		tree.Keys(e, func(k, v *yaml.Node) {
			if tree.IsNull(v) {
				return
			}
			have := tree.Child(s.override, k.Value)
			if have == nil {
				have = tree.List()
				have.Line = k.Line
				tree.Set(s.override, k.Value, have)
			}
			have.Content = append(have.Content, v)
		})
	}
}

// readSpecVariables are the variables below SPEC, METADATA and BENCHMARKS as a scenario.
func readSpecVariables(c *tool.CommandLine, set settings) *yaml.Node {
	if len(set.spec) == 0 {
		return nil
	}
	n := tree.Mapping()
	for _, name := range set.spec {
		word := settingsPrefix + name
		path := strings.Split(strings.ToLower(name), "__")
		value := c.JSON(word, set.values[name])
		if value != nil && len(path) == 2 && path[0] == "spec" && value.Kind == yaml.ScalarNode &&
			strings.Contains(value.Value, "=") {
			value = parseTypedValue(c, word, value.Value)
		}
		tree.Put(n, value, path...)
	}
	return n
}

// buildTypedBlock makes the block of a scenario. Endpoint, model, key and outputs are ours to follow, not the
// translation's.
func buildTypedBlock(c *tool.CommandLine, s *scenario, set settings) {
	c.Block = s.spec
	if b := c.At("backend"); b != nil && b.Kind == yaml.ScalarNode {
		c.Put(tool.Mapping(b), "backend")
	}
	if n := c.At("backend", "target"); n != nil {
		c.SetEndpoint(c.Word(n.Line), n.Value)
	}
	c.Take("backend", "target")
	c.Request.Model = c.TakeText("backend", "model")
	if key := c.TakeText("backend", "api_key"); key != "" {
		c.Request.Key = tool.Key(key)
	}
	skipVerification(c)
	addTypedOutputs(c, c.Take("outputs"), c.Take("output"), set)
	if len(s.override.Content) > 0 {
		c.Put(s.override, "override")
	}
	if len(s.labels.Content) > 0 {
		c.Put(s.labels, "labels")
	}
	if n := c.At("tokenizer"); n != nil {
		c.Warnf(c.Word(n.Line), "has no effect here: tokens are counted by the server")
		c.Take("tokenizer")
	}
	if c.At("profile") == nil {
		c.Missing("no profile is named: set --profile kind=...")
	}
	if c.At("data") == nil {
		c.Missing("no data is named: set --data kind=synthetic_text,prompt_tokens=256,output_tokens=128")
	}
	set.pass(c, "10240")
}

// skipVerification follows the tool, which checks no certificate unless it is told to.
func skipVerification(c *tool.CommandLine) {
	if strings.HasPrefix(c.Request.Endpoint, "https://") && c.At("backend", "verify") == nil {
		c.PutText("the default of GuideLLM", "false", "backend", "verify")
		c.Warnf("--target", "certificates are not checked, as the tool does: set verify to true to have them checked")
	}
}
