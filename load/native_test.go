package load_test

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/load"
)

// translate is load.Translate, of a native block too.
func translate(src load.Source) (load.Translation, problem.List) {
	if src.Tool == load.Native {
		if found := readNative(&src, false); found.Err() != nil {
			return load.Translation{}, found
		}
	}
	return load.Translate(src)
}

// readNative reads the block of src as the file of a profile holds it, in one line, and puts it in its place.
func readNative(src *load.Source, lenient bool) problem.List {
	text := "apiVersion: bflow.dev/v1alpha1\nkind: BenchmarkProfile\nmetadata: {name: profile}\nspec:\n  tool: native\n"
	if n := src.Block.Node; n != nil {
		if n.Kind == yaml.DocumentNode {
			n = n.Content[0]
		}
		n.Style |= yaml.FlowStyle
		spellNulls(n)
		line, err := yaml.Marshal(n)
		if err != nil {
			return problem.List{{Text: err.Error()}}
		}
		text += "  load: " + strings.TrimRight(string(line), "\n") + "\n"
	}
	set, found := spec.LoadBytes(spec.Options{CheckAll: true, Lenient: lenient}, "profile.yaml", []byte(text))
	if found.Err() != nil {
		return found
	}
	profile, _ := set.Catalogue.Benchmark("profile", nil, "")
	src.Load = profile.Spec.Load
	src.Block = load.Block{File: profile.File, Path: "spec.load", Node: profile.Pos("spec.load")}
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
