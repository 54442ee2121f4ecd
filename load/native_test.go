package load_test

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/generator/profiles"
	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/load"
	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/registry"
)

// toolOf is the tool of a name, the native block among them; the first of all for none.
func toolOf(name string) tool.Translator {
	switch name {
	case load.Native:
		return (*load.NativeBlock)(nil)
	case "":
		return registry.All()[0]
	}
	return registry.All().TranslatorOf(name)
}

// translate is tool.Translate, of a native block and of overrides too.
func translate(src tool.Source) (tool.Translation, problem.List) {
	for i := range src.Overrides {
		if found := readOverride(&src.Overrides[i]); found.Err() != nil {
			return tool.Translation{}, found
		}
	}
	if _, ok := src.Tool.(*load.NativeBlock); ok {
		if found := readNative(&src, false); found.Err() != nil {
			return tool.Translation{}, found
		}
	}
	return tool.Translate(src)
}

// readOverride reads a layer as the file of an experiment holds it, in one line.
func readOverride(l *tool.OverrideLayer) problem.List {
	text := "apiVersion: bflow.dev/v1alpha1\nkind: Experiment\nmetadata: {name: e}\nspec:\n" +
		"  model: {name: acme/tiny-1b}\n  deployment_profile: sim\n" +
		"  load: {data: {input: 1}, stages: [{rate: 1, duration: 1s}]}\n"
	line, found := lineOf(l.Node)
	if found.Err() != nil {
		return found
	}
	set, found := spec.LoadBytes(spec.Options{Shipped: profiles.FS}, "experiment.yaml",
		[]byte(text+"  overrides: {benchmark: "+line+"}\n"))
	if found.Err() == nil {
		l.BenchmarkOverrides = set.Experiments[0].Spec.Overrides.Benchmark
	}
	return found
}

// lineOf writes a node in one line.
func lineOf(n *yaml.Node) (string, problem.List) {
	if n.Kind == yaml.DocumentNode {
		n = n.Content[0]
	}
	n.Style |= yaml.FlowStyle
	spellNulls(n)
	line, err := yaml.Marshal(n)
	if err != nil {
		return "", problem.List{{Text: err.Error()}}
	}
	return strings.TrimRight(string(line), "\n"), nil
}

// readNative reads the block of src as the file of a profile holds it, in one line, and puts it in its place.
func readNative(src *tool.Source, lenient bool) problem.List {
	text := "apiVersion: bflow.dev/v1alpha1\nkind: BenchmarkProfile\nmetadata: {name: profile}\nspec:\n  tool: native\n"
	if n := src.Block.Node; n != nil {
		line, found := lineOf(n)
		if found.Err() != nil {
			return found
		}
		text += "  load: " + line + "\n"
	}
	set, found := spec.LoadBytes(spec.Options{CheckAll: true, Lenient: lenient}, "profile.yaml", []byte(text))
	if found.Err() != nil {
		return found
	}
	profile, _ := set.Catalogue.Benchmark("profile", nil, "")
	src.Tool = profile.Spec.Load
	src.Block = tool.Block{File: profile.File, Path: "spec.load", Node: profile.Pos("spec.load")}
	return found
}

// spellNulls gives empty values a word: the library writes them as empty text.
func spellNulls(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		n.Value = "null"
	}
	for _, c := range n.Content {
		spellNulls(c)
	}
}
