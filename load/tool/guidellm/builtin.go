package guidellm

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/tree"
)

// builtin is a scenario that the tool itself comes with, in numbers.
type builtin struct {
	name           string
	prompt, output tokens
	turns          int
	prefix         int // tokens of a prefix
	prefixes       int
	seconds        int   // per number of streams
	streams        []int // nil: of 0.4 to 0.6, a sweep
}

// tokens is how long texts are; without a deviation all are of one length.
type tokens struct{ mean, stdev, low, high int }

func builtins() []builtin {
	wide, narrow := []int{1, 50, 100, 200, 300}, []int{1, 25, 50, 75, 100}
	return []builtin{
		{name: "chat", prompt: tokens{512, 128, 1, 1024}, output: tokens{256, 64, 1, 1024}},
		{name: "rag", prompt: tokens{4096, 512, 2048, 6144}, output: tokens{512, 128, 1, 1024}},
		{name: "concurrent-100k-1k-equal", prompt: tokens{mean: 100000}, output: tokens{mean: 1000},
			seconds: 450, streams: []int{1, 2, 5}},
		{name: "concurrent-1k-1k-equal", prompt: tokens{mean: 1000}, output: tokens{mean: 1000},
			seconds: 450, streams: wide},
		{name: "concurrent-1k-1k-multiturn", prompt: tokens{mean: 1000}, output: tokens{mean: 1000},
			turns: 5, prefix: 512, prefixes: 10, seconds: 450, streams: narrow},
		{name: "concurrent-2ki-128-equal", prompt: tokens{mean: 2048}, output: tokens{mean: 128},
			seconds: 45, streams: wide},
		{name: "concurrent-512-2ki-norm", prompt: tokens{512, 128, 1, 1024}, output: tokens{2048, 512, 1, 4096},
			seconds: 450, streams: wide},
		{name: "concurrent-8k-1k-equal", prompt: tokens{mean: 8000}, output: tokens{mean: 1000},
			seconds: 450, streams: narrow},
		{name: "concurrent-8k-800-norm", prompt: tokens{8000, 8500, 50, 30000}, output: tokens{800, 1500, 20, 8000},
			seconds: 450, streams: wide},
	}
}

// findBuiltin is a scenario that the tool itself comes with, nil where there is none of this name.
func findBuiltin(c *tool.CommandLine, name string) *yaml.Node {
	for _, b := range builtins() {
		if b.name == strings.TrimPrefix(name, "rhaiis/") {
			w := writer{c, "scenario " + name}
			if b.streams == nil {
				return w.sweep(b)
			}
			return w.concurrent(b)
		}
	}
	return nil
}

// writer makes nodes that one word stands for.
type writer struct {
	c    *tool.CommandLine
	word string
}

func (w writer) text(value string) *yaml.Node { return w.c.Text(w.word, value) }

func (w writer) number(n int) *yaml.Node { return w.text(strconv.Itoa(n)) }

func (w writer) mapping() *yaml.Node {
	n := tree.Mapping()
	n.Line, n.Column = w.c.Origin(w.word), 1
	return n
}

// sweep is the scenario in the words of 0.4 to 0.6.
func (w writer) sweep(b builtin) *yaml.Node {
	scenario := w.mapping()
	tree.Put(scenario, w.text("sweep"), "profile")
	tree.Put(scenario, w.data(w.mapping(), b), "data")
	return scenario
}

// concurrent is the scenario in the words of 0.7 and later, a benchmark per number of streams.
func (w writer) concurrent(b builtin) *yaml.Node {
	scenario := w.mapping()
	tree.Put(scenario, w.text(b.name), "metadata", "name")
	tree.Put(scenario, w.text("concurrent"), "spec", "profile", "kind")
	data := w.mapping()
	tree.Put(data, w.text("synthetic_text"), "kind")
	tree.Put(scenario, tree.List(w.data(data, b)), "spec", "data")
	bound := w.mapping()
	tree.Put(bound, w.text("max_duration"), "kind")
	tree.Put(bound, w.number(b.seconds), "seconds")
	tree.Put(scenario, tree.List(bound), "spec", "constraints")
	var benchmarks []*yaml.Node
	for _, n := range b.streams {
		one := w.mapping()
		tree.Put(one, w.number(n), "profile.streams")
		benchmarks = append(benchmarks, one)
	}
	tree.Put(scenario, tree.List(benchmarks...), "benchmarks")
	return scenario
}

// data adds the settings of made-up text to n.
func (w writer) data(n *yaml.Node, b builtin) *yaml.Node {
	put := func(key string, value int) {
		if value > 0 {
			tree.Put(n, w.number(value), key)
		}
	}
	for _, t := range []struct {
		key string
		tokens
	}{{"prompt_tokens", b.prompt}, {"output_tokens", b.output}} {
		put(t.key, t.mean)
		put(t.key+"_stdev", t.stdev)
		put(t.key+"_min", t.low)
		put(t.key+"_max", t.high)
	}
	put("turns", b.turns)
	put("prefix_tokens", b.prefix)
	put("prefix_count", b.prefixes)
	return n
}
