package words

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/load"
)

// typedFlags are the flags of 0.7 and later with the key of the scenario's spec that they are.
func typedFlags() map[string]string {
	return map[string]string{
		"backend": "backend", "profile": "profile", "constraint": "constraints", "constraints": "constraints", "tokenizer": "tokenizer",
		"data": "data", "data-loader": "data_loader", "data-column-mapper": "data_column_mapper", "data-preprocessor": "data_preprocessors",
		"data-preprocessors": "data_preprocessors", "data-finalizer": "data_finalizer", "seed": "seed", "output": "outputs", "outputs": "outputs",
		"metrics": "metrics",
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

// typed reads the words of 0.7 and later.
func (p *parser) typed(args []string, set settings) { p.typedFile(nil, args, set) }

// typedFile reads them over a scenario that is there already, or the one that a flag names.
func (p *parser) typedFile(file *yaml.Node, args []string, set settings) {
	p.req.Generation = "0.7"
	p.typedVariables()
	flags := p.typedArguments(args)
	s := scenario{spec: mapping(), labels: mapping(), override: mapping()}
	p.typedSay(&s, flags)
	if value, word, ok := last(flags, "config", "scenario", "c"); ok {
		if file = p.builtin(value); file == nil {
			file = p.file(word, value)
		}
	}
	if file != nil {
		p.typedUnder(&s, file)
	}
	if variables := p.specVariables(set); variables != nil {
		p.typedUnder(&s, variables)
	}
	p.before("0.7", set)
	p.typedBlock(&s, set)
}

// typedVariables warns of the variables of older words, which these do not read.
func (p *parser) typedVariables() {
	for _, name := range p.names {
		if strings.HasPrefix(name, "GUIDELLM_") && !strings.HasPrefix(name, settingsPrefix) {
			p.warnf(name, "has no effect: GuideLLM 0.7 and later read GUIDELLM__SPEC__ variables only")
		}
	}
}

func (p *parser) typedArguments(args []string) []flagged {
	arities := map[string]arity{
		"label": one, "l": one, "override": paired, "config": one, "scenario": one, "c": one,
		"disable-console": none, "disable-console-outputs": none, "disable-console-interactive": none, "disable-progress": none,
	}
	var known []string
	for name := range typedFlags() {
		arities[name] = one
	}
	for name := range arities {
		known = append(known, "--"+name)
	}
	takes := func(name string) (arity, bool) {
		n, ok := arities[name]
		return n, ok
	}
	return p.readFlags(args, takes, func(word string) { p.unknown(word, known) })
}

// typedSay writes the flags into s.
func (p *parser) typedSay(s *scenario, flags []flagged) {
	for _, f := range flags {
		if len(f.values) == 0 {
			continue
		}
		switch key, ok := typedFlags()[f.name]; {
		case ok && repeated(key):
			have := child(s.spec, key)
			if have == nil {
				have = list()
				have.Line = p.origin(f.word)
				set(s.spec, key, have)
			}
			if n := p.typedValue(f.word, f.values[0]); n != nil {
				have.Content = append(have.Content, n)
			}
		case ok:
			put(s.spec, p.typedValue(f.word, f.values[0]), key)
		case f.name == "label" || f.name == "l":
			if k, v, ok := strings.Cut(f.values[0], "="); ok {
				put(s.labels, p.text(f.word, v), k)
			} else {
				p.errorf(f.word, "want NAME=VALUE, found %q", f.values[0])
			}
		case f.name == "override" && len(f.values) == 2:
			put(s.override, p.json(f.word, f.values[1]), f.values[0])
		case strings.HasPrefix(f.name, "disable"):
			p.req.Quiet = true
		}
	}
}

// typedValue is the mapping that a typed flag stands for: JSON, k=v pairs or a kind.
func (p *parser) typedValue(word, text string) *yaml.Node {
	n := p.json(word, text)
	if n == nil || n.Kind != yaml.ScalarNode {
		return n
	}
	if n = load.Mapping(n); n == nil {
		p.errorf(word, "want kind=...,key=value or JSON") // without what was found: it may hold a key
		return nil
	}
	return unfold(n)
}

// unfold turns dotted keys of k=v pairs into mappings, and lists in square brackets into lists.
func unfold(n *yaml.Node) *yaml.Node {
	out := mapping()
	out.Line, out.Column = n.Line, n.Column
	keys(n, func(k, v *yaml.Node) {
		if text := strings.TrimSpace(v.Value); strings.HasPrefix(text, "[") {
			if parsed, err := parseYAML([]byte(text)); err == nil {
				relocate(parsed, v.Line)
				v = parsed
			}
		}
		put(out, v, strings.Split(k.Value, ".")...)
	})
	return out
}

func relocate(n *yaml.Node, line int) {
	n.Line, n.Column = line, 1
	for _, c := range n.Content {
		relocate(c, line)
	}
}

// typedUnder puts a scenario file, or a report of one, under what was said so far.
func (p *parser) typedUnder(s *scenario, file *yaml.Node) {
	if config := child(file, "config"); config != nil {
		file = config // a report holds its scenario; where that run was written is its own business
		take(file, "spec", "outputs")
	}
	keys(file, func(k, v *yaml.Node) {
		switch k.Value {
		case "metadata", "spec", "benchmarks":
		default:
			p.unknownKey(k, []string{"metadata", "spec", "benchmarks"})
		}
	})
	fill(s.labels, at(file, "metadata", "labels"))
	spec := child(file, "spec")
	p.benchmarks(s, spec, child(file, "benchmarks"))
	if spec != nil && spec.Kind != yaml.MappingNode {
		p.errorf(p.word(spec.Line), "want a mapping as spec")
		return
	}
	fill(s.spec, spec)
	s.settle()
}

// inConstraint is a path to a field of one constraint, in either spelling.
var inConstraint = regexp.MustCompile(`^constraints?(?:\[(\d{1,3})\]|\.(\d{1,3}))\.(\w+)$`)

// settle moves values that differ between benchmarks into the constraints where they belong: a list there is one value
// per benchmark.
func (s *scenario) settle() {
	constraints := child(s.spec, "constraints")
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
		put(constraints.Content[n], s.override.Content[i+1], m[3])
		s.override.Content = slices.Delete(s.override.Content, i, i+2)
	}
}

// benchmarks turns the list of what differs into lists of values by path.
func (p *parser) benchmarks(s *scenario, spec, entries *yaml.Node) {
	if entries == nil || entries.Kind != yaml.SequenceNode || len(s.override.Content) > 0 {
		return
	}
	for _, e := range entries.Content {
		keys(e, func(k, v *yaml.Node) {
			if isNull(v) {
				return
			}
			have := child(s.override, k.Value)
			if have == nil {
				have = list()
				have.Line = k.Line
				set(s.override, k.Value, have)
			}
			have.Content = append(have.Content, v)
		})
	}
}

// specVariables are the variables below SPEC, METADATA and BENCHMARKS as a scenario.
func (p *parser) specVariables(set settings) *yaml.Node {
	if len(set.spec) == 0 {
		return nil
	}
	n := mapping()
	for _, name := range set.spec {
		word := settingsPrefix + name
		path := strings.Split(strings.ToLower(name), "__")
		value := p.json(word, set.values[name])
		if value != nil && len(path) == 2 && path[0] == "spec" && value.Kind == yaml.ScalarNode && strings.Contains(value.Value, "=") {
			value = p.typedValue(word, value.Value)
		}
		put(n, value, path...)
	}
	return n
}

// typedBlock makes the block of a scenario. Endpoint, model, key and outputs are ours to follow, not the translation's.
func (p *parser) typedBlock(s *scenario, set settings) {
	p.block = s.spec
	if b := child(p.block, "backend"); b != nil && b.Kind == yaml.ScalarNode {
		put(p.block, load.Mapping(b), "backend")
	}
	if n := at(p.block, "backend", "target"); n != nil {
		p.endpoint(p.word(n.Line), n.Value)
	}
	take(p.block, "backend", "target")
	p.req.Model = takeText(p.block, "backend", "model")
	if key := takeText(p.block, "backend", "api_key"); key != "" {
		p.req.Key = Key(key)
	}
	p.unverified()
	p.typedOutputs(take(p.block, "outputs"), take(p.block, "output"), set)
	if len(s.override.Content) > 0 {
		put(p.block, s.override, "override")
	}
	if len(s.labels.Content) > 0 {
		put(p.block, s.labels, "labels")
	}
	if n := at(p.block, "tokenizer"); n != nil {
		p.warnf(p.word(n.Line), "has no effect here: tokens are counted by the server")
		take(p.block, "tokenizer")
	}
	if at(p.block, "profile") == nil {
		p.missing("no profile is named: set --profile kind=...")
	}
	if at(p.block, "data") == nil {
		p.missing("no data is named: set --data kind=synthetic_text,prompt_tokens=256,output_tokens=128")
	}
	set.load(p, "10240")
}

// unverified follows the tool, which checks no certificate unless it is told to.
func (p *parser) unverified() {
	if strings.HasPrefix(p.req.Endpoint, "https://") && at(p.block, "backend", "verify") == nil {
		put(p.block, p.text("the default of GuideLLM", "false"), "backend", "verify")
		p.warnf("--target", "certificates are not checked, as the tool does: set verify to true to have them checked")
	}
}
