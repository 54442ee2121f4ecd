package spec

import (
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/problem"
)

// setting is one --set path=value. path is from the document's root, so it starts with spec.
type setting struct {
	path  Path
	named Path // as the flag has it: path differs where a list makes an axis
	text  string
	value *yaml.Node
	axis  bool // its list makes an axis
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
			l.found.Add(problem.Problem{File: "--set " + text,
				Text: "spec." + f.named.String() + ": it removes what --set " + lost.text + " sets; keep one of them"})
			continue
		}
		out = append(out, f)
	}
	return out
}

// replacedBy returns the setting before f that f would take away where one of them makes an axis: a later value wins,
// but two lists of one value are meant to be one, and of an axis nothing is lost unsaid.
func replacedBy(before []setting, f setting) *setting {
	i := slices.IndexFunc(before, func(s setting) bool {
		list := s.value.Kind == yaml.SequenceNode || f.value.Kind == yaml.SequenceNode
		return list && slices.Equal(s.named, f.named) || (s.axis || f.axis) && s.named.hasPrefix(f.named)
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
	f := setting{path: append(Path{{Key: "spec"}}, p...), named: p, text: text,
		value: &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}}
	roots, found := parse("", []byte(value))
	if err := found.Err(); err != nil || len(roots) > 1 {
		return setting{}, "spec." + p.String() + ": want a YAML value: " + found.Error()
	}
	if len(roots) == 1 {
		f.value = placeless(roots[0])
	}
	byPath := typ != nil && !takesList(typ)
	f.axis = f.value.Kind == yaml.SequenceNode && (byPath || isAxis(typ))
	if f.axis && byPath {
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
