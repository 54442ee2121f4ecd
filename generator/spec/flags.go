package spec

import (
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/tasks/problem"
)

// setting is one --set path=value. path is from the document's root, so it starts with spec.
type setting struct {
	path  Path
	named Path // as the flag has it: path differs where a list makes an axis
	text  string
	value *yaml.Node
}

// parseFlags reads Options.Set.
func (l *loader) parseFlags() []setting {
	var out []setting
	for _, text := range l.opt.Set {
		f, err := l.parseFlag(text)
		if err != "" {
			l.found.Add(problem.Problem{File: "--set " + text, Text: err})
			continue
		}
		if lost := replacedBy(out, f); lost != nil {
			l.found.Add(problem.Problem{File: "--set " + text, Text: "spec." + f.named.String() + ": it takes away what --set " + lost.text + " sets; keep one of them"})
			continue
		}
		out = append(out, f)
	}
	return out
}

// replacedBy returns the setting before f whose list f would take away, or that f takes away by a list: a later value wins,
// but two lists of one value are meant to be one.
func replacedBy(before []setting, f setting) *setting {
	i := slices.IndexFunc(before, func(s setting) bool {
		list := s.value.Kind == yaml.SequenceNode || f.value.Kind == yaml.SequenceNode
		return list && slices.Equal(s.named, f.named)
	})
	if i < 0 {
		return nil
	}
	return &before[i]
}

func (l *loader) parseFlag(text string) (setting, string) {
	path, value, ok := Assignment(text)
	if !ok {
		return setting{}, "want path=value, such as load.stages[0].rate=4"
	}
	p, err := ParsePath(strings.TrimSpace(path))
	if err != nil {
		return setting{}, err.Error()
	}
	_, typ, unknown := l.codec.resolve(reflect.TypeFor[ExperimentSpec](), p)
	if unknown != "" {
		return setting{}, "spec." + p.String() + ": " + unknown
	}
	f := setting{path: append(Path{{Key: "spec"}}, p...), named: p, text: text, value: &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}}
	roots, found := parse("", []byte(value))
	if err := found.Err(); err != nil || len(roots) > 1 {
		return setting{}, "spec." + p.String() + ": want a YAML value: " + found.Error()
	}
	if len(roots) == 1 {
		f.value = placeless(roots[0])
	}
	if f.value.Kind == yaml.SequenceNode && typ != nil && !takesList(typ) {
		f.path = Path{{Key: "spec"}, {Key: "matrix"}, {Key: "axes"}, {Key: p.String()}}
	}
	return f, ""
}

// Assignment parts PATH=VALUE, which flags, params, webhooks and comments have, at the first = outside of quotes. ok is
// false where there is none. ParsePath reads the path.
func Assignment(text string) (path, value string, ok bool) {
	inQuotes := false
	for i, r := range text {
		switch {
		case r == '"':
			inQuotes = !inQuotes
		case r == '=' && !inQuotes:
			return text[:i], text[i+1:], true
		}
	}
	return "", "", false
}

// takesList reports whether a list is a value of type t; elsewhere a list makes an axis.
func takesList(t reflect.Type) bool { return bare(t).Kind() == reflect.Slice || free(bare(t)) }

// placeless takes the positions off a tree: they would point into the file. See Doc.at.
func placeless(n *yaml.Node) *yaml.Node {
	n.Line, n.Column = 0, 0
	for _, c := range n.Content {
		placeless(c)
	}
	return n
}

// apply sets the flags in the tree of d. A flag beats every layer, so weaker places for the same value give way.
func (d *Doc) apply(flags []setting) (out problem.List) {
	for _, f := range flags {
		d.flags = append(d.flags, f)
		root, err := With(d.Root, f.path, f.value)
		if err != nil {
			out.Add(problem.Problem{File: "--set " + f.text, Path: f.path.String(), Text: err.Error()})
			continue
		}
		d.Root = d.yield(root, f)
	}
	return out
}

// yield takes f's path out of matrix.axes and of model_overrides.
func (d *Doc) yield(root *yaml.Node, f setting) *yaml.Node {
	p := f.path[1:]
	root = without(root, Path{{Key: "spec"}, {Key: "matrix"}, {Key: "axes"}, {Key: p.String()}})
	models := Get(root, Path{{Key: "spec"}, {Key: "model_overrides"}})
	if p[0].Key != "overrides" || len(p) < 2 || models == nil || models.Kind != yaml.MappingNode {
		return root
	}
	for i := 0; i+1 < len(models.Content); i += 2 {
		model := Path{{Key: "spec"}, {Key: "model_overrides"}, {Key: models.Content[i].Value}}
		root = yieldModel(root, model, p[1:], f.value)
	}
	return root
}

// yieldModel removes a value from one model's overrides. Two fields combine in other ways: extra arguments are
// appended, so they stay; a model's resources replace the experiment's as a block, so the value goes into both.
func yieldModel(root *yaml.Node, model, p Path, value *yaml.Node) *yaml.Node {
	inside := append(model, p...)
	switch {
	case p.hasPrefix(Path{{Key: "runtime"}, {Key: "vllm_extra_args"}}):
		return root
	case len(p) > 2 && p[1].Key == "resources" && Get(root, append(model, p[:2]...)) != nil:
		if out, err := With(root, inside, value); err == nil {
			return out
		}
		return root
	}
	return without(root, inside)
}
