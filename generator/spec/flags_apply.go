package spec

import (
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/problem"
)

// inMatrix is the path of a key of spec.matrix.
func inMatrix(key string) Path { return Path{{Key: "spec"}, {Key: "matrix"}, {Key: key}} }

// apply sets the flags in the tree of d. A flag beats every layer, so weaker places for the same value give way.
func (d *Doc) apply(flags []setting) (out problem.List) {
	for _, f := range flags {
		d.flags = append(d.flags, f)
		d.spellAxis(f)
		taken, problems := d.yieldAxes(f)
		out.Add(problems...)
		if !taken {
			root, err := With(d.codec.spelt(d.Root, reflect.TypeFor[Experiment](), f.path), f.path, f.value)
			if err != nil {
				out.Add(f.problem(f.path, err.Error()))
				continue
			}
			d.Root = root
		}
		out.Add(d.yieldPoints(f)...)
		d.Root = yieldModels(d.Root, f)
	}
	return out
}

// problem is one at path that the flag has caused.
func (f *setting) problem(path Path, text string) problem.Problem {
	return problem.Problem{File: "--set " + f.text, Path: path.String(), Text: text}
}

// axisPath reads the path of an axis in first spellings, with the type of its values; nil where it names nothing.
func (c *codec) axisPath(key string) (Path, reflect.Type) {
	p, err := ParsePath(key)
	if err != nil {
		return nil, nil
	}
	root, rest := reflect.TypeFor[ExperimentSpec](), p
	if profile := profilePrefix(p[0].Key); profile != nil && len(p) > 1 {
		root, rest = profile, p[1:]
	}
	_, typ, unknown := c.resolve(root, rest)
	if unknown != "" {
		return nil, nil
	}
	return p, typ
}

// spellAxis gives the axis of the file that f replaces the words of f, so that it is replaced in its place.
func (d *Doc) spellAxis(f setting) {
	at := inMatrix("axes")
	axes := Get(d.Root, at)
	if axes == nil || axes.Kind != yaml.MappingNode || !f.path.hasPrefix(at) {
		return
	}
	for i := 0; i+1 < len(axes.Content); i += 2 {
		if p, _ := d.codec.axisPath(axes.Content[i].Value); !slices.Equal(p, f.named) {
			continue
		}
		spelt, key := *axes, *axes.Content[i]
		key.Value = f.named.String()
		spelt.Content = slices.Clone(axes.Content)
		spelt.Content[i] = &key
		if root, err := With(d.Root, at, &spelt); err == nil {
			d.Root = root
		}
		return
	}
}

// yieldAxes takes the axes at and below f's path away, and puts f's value into every value of an axis above it: taken
// says that there is one, whose values stand in place of what the file has there. An axis that then varies nothing is
// none.
func (d *Doc) yieldAxes(f setting) (taken bool, out problem.List) {
	at := inMatrix("axes")
	axes := Get(d.Root, at)
	if axes == nil || axes.Kind != yaml.MappingNode {
		return false, nil
	}
	kept := *axes
	kept.Content = nil
	for i := 0; i+1 < len(axes.Content); i += 2 {
		key, list := axes.Content[i], axes.Content[i+1]
		p, typ := d.codec.axisPath(key.Value)
		switch own := f.path.hasPrefix(at) && key.Value == f.named.String(); {
		case len(p) == 0 || own:
		case p.hasPrefix(f.named):
			continue
		case f.named.hasPrefix(p) && !f.axis && list.Kind == yaml.SequenceNode && len(list.Content) > 0:
			var problems problem.List
			list, problems = d.into(list, typ, f, append(slices.Clone(at), Seg{Key: key.Value}), f.named[len(p):])
			out.Add(problems...)
			if taken = true; d.settled(list, p) {
				continue
			}
		}
		kept.Content = append(kept.Content, key, list)
	}
	if root, err := With(d.Root, at, &kept); err == nil {
		d.Root = root
	}
	return taken, out
}

// settled puts the one value of an axis that varies nothing at its path. The first of a list of one is no axis before
// either, and stays where it is.
func (d *Doc) settled(list *yaml.Node, p Path) bool {
	if len(list.Content) < 2 || !sameTrees(list.Content) || profilePrefix(p[0].Key) != nil {
		return false
	}
	root, err := With(d.Root, inSpec(p), list.Content[0])
	if err == nil {
		d.Root = root
	}
	return err == nil
}

func inSpec(p Path) Path { return append(Path{{Key: "spec"}}, p...) }

// into returns list, which is at place, with f's value at rest of each of its values.
func (d *Doc) into(list *yaml.Node, typ reflect.Type, f setting, place, rest Path) (*yaml.Node, problem.List) {
	var problems problem.List
	out := *list
	out.Content = slices.Clone(list.Content)
	for i := range out.Content {
		at := append(slices.Clone(place), Seg{Index: i})
		n, problem := d.put(out.Content[i], typ, f, at, rest)
		out.Content[i] = n
		problems.Add(problem...)
	}
	return &out, problems
}

// put returns n, a value of the given type at place, with f's value at rest.
func (d *Doc) put(n *yaml.Node, typ reflect.Type, f setting, place, rest Path) (*yaml.Node, problem.List) {
	at := append(slices.Clone(place), rest...)
	out, err := With(d.codec.spelt(n, typ, rest), rest, f.value)
	if err != nil {
		return n, problem.List{f.problem(at, err.Error())}
	}
	d.flags = append(d.flags, setting{path: at, text: f.text})
	return out, nil
}

// yieldPoints does with the points of matrix.include what yieldAxes does with axes.
func (d *Doc) yieldPoints(f setting) (out problem.List) {
	at := inMatrix("include")
	list := Get(d.Root, at)
	if list == nil || list.Kind != yaml.SequenceNode || f.axis {
		return nil
	}
	kept := *list
	kept.Content = slices.Clone(list.Content)
	for i, point := range list.Content {
		if point.Kind != yaml.MappingNode {
			continue
		}
		place := append(slices.Clone(at), Seg{Index: i})
		less, problems := d.yieldPoint(point, f, place)
		out.Add(problems...)
		if kept.Content[i] = less; len(less.Content) == 0 && len(point.Content) > 0 {
			kept.Content[i] = point // nothing else is to be said of it
			out.Add(f.problem(place, "the flag overrides every value of this point, so the point has no effect; remove it"))
		}
	}
	if root, err := With(d.Root, at, &kept); err == nil {
		d.Root = root
	}
	return out
}

func (d *Doc) yieldPoint(point *yaml.Node, f setting, place Path) (*yaml.Node, problem.List) {
	var problems problem.List
	out := *point
	out.Content = nil
	for i := 0; i+1 < len(point.Content); i += 2 {
		key, value := point.Content[i], point.Content[i+1]
		p, typ := d.codec.axisPath(key.Value)
		switch {
		case len(p) == 0:
		case p.hasPrefix(f.named):
			continue
		case f.named.hasPrefix(p):
			var found problem.List
			value, found = d.put(value, typ, f, append(slices.Clone(place), Seg{Key: key.Value}), f.named[len(p):])
			problems.Add(found...)
		}
		out.Content = append(out.Content, key, value)
	}
	return &out, problems
}

// yieldModels takes f's value out of the overrides of every model.
func yieldModels(root *yaml.Node, f setting) *yaml.Node {
	models := Get(root, inSpec(Path{{Key: "model_overrides"}}))
	if f.named[0].Key != "overrides" || models == nil || models.Kind != yaml.MappingNode {
		return root
	}
	for i := 0; i+1 < len(models.Content); i += 2 {
		model := inSpec(Path{{Key: "model_overrides"}, {Key: models.Content[i].Value}})
		root = yieldModel(root, model, f.named[1:], f.value)
	}
	return root
}

// yieldModel removes a value from one model's overrides. Two fields combine in other ways: extra arguments are
// appended, so they stay; a model's resources replace the experiment's as a block, so the value goes into both.
func yieldModel(root *yaml.Node, model, p Path, value *yaml.Node) *yaml.Node {
	inside := append(model, p...)
	switch {
	case len(p) == 0: // of all overrides
		if out, err := With(root, model, &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}); err == nil {
			return out
		}
		return root
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

// sameTrees reports whether several trees hold the same.
func sameTrees(trees []*yaml.Node) bool {
	for _, n := range trees[1:] {
		if !sameTree(trees[0], n) {
			return false
		}
	}
	return true
}

func sameTree(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Tag == b.Tag && a.Value == b.Value && slices.EqualFunc(a.Content, b.Content, sameTree)
}
