package words

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/scalar"
	"bflow.dev/bflow/load"
)

// perfRoots are the keys at the top of inference-perf's configuration.
func perfRoots() []string {
	return []string{"api", "data", "load", "metrics", "report", "storage", "server", "tokenizer", "circuit_breakers"}
}

// inferencePerf reads a configuration file and flags --a.b.c value, which are the same tree.
func (p *parser) inferencePerf(args []string) {
	p.req.Tool = load.InferencePerf
	block := mapping()
	for _, f := range p.perfFlags(args) {
		if len(f.values) == 0 || !strings.Contains(f.word, ".") && child(block, f.name) == nil && !p.perfTop(block, f) {
			continue
		}
		if strings.Contains(f.word, ".") {
			put(block, p.json(f.word, f.values[0]), strings.Split(strings.TrimLeft(f.word, "-"), ".")...)
		}
	}
	p.block = block
	p.perfServer()
	p.perfOutputs()
	take(p.block, "storage")
}

// perfTop reads a flag of one word: the file, or a whole part of the tree as JSON.
func (p *parser) perfTop(block *yaml.Node, f flagged) bool {
	switch f.name {
	case "c", "config-file":
		if n := p.file(f.word, f.values[0]); n != nil {
			fill(block, n)
		}
	case "log-level":
		p.req.Quiet = p.req.Quiet || strings.EqualFold(f.values[0], "error")
	case "analyze", "a", "unified-analysis-dir", "u":
		p.only(f.word, "inference-perf")
	default:
		put(block, p.json(f.word, f.values[0]), strings.ReplaceAll(f.name, "-", "_"))
	}
	return false
}

// perfFlags reads the flags, those of the tree before the file, which is weaker.
func (p *parser) perfFlags(args []string) []flagged {
	known := []string{"--config_file", "--log-level"}
	for _, r := range perfRoots() {
		known = append(known, "--"+r)
	}
	takes := func(name string) (arity, bool) {
		root, _, _ := strings.Cut(name, ".")
		for _, k := range append(perfRoots(), "c", "config-file", "log-level", "analyze", "a", "unified-analysis-dir", "u") {
			if strings.ReplaceAll(k, "_", "-") == root {
				return one, true
			}
		}
		return one, false
	}
	var tree, rest []flagged
	for _, f := range p.readFlags(args, takes, func(word string) { p.unknown(word, known) }) {
		if f.name == "c" || f.name == "config-file" {
			rest = append(rest, f)
		} else {
			tree = append(tree, f)
		}
	}
	return append(tree, rest...)
}

func (p *parser) perfServer() {
	if n := take(p.block, "server", "base_url"); n != nil {
		p.endpoint(p.word(n.Line), n.Value)
	}
	p.req.Model = takeText(p.block, "server", "model_name")
	if key := takeText(p.block, "server", "api_key"); key != "" {
		p.req.Key = Key(key)
	}
	if n := at(p.block, "server", "type"); n != nil && n.Value == "mock" {
		p.only(p.word(n.Line), "inference-perf")
	}
}

// perfOutputs reads where reports go and what they hold.
func (p *parser) perfOutputs() {
	for _, cloud := range []string{"google_cloud_storage", "simple_storage_service"} {
		if n := at(p.block, "storage", cloud); n != nil {
			p.only(p.word(n.Line), "inference-perf")
		}
	}
	o := Output{Format: FormatInference, Path: "reports", Folder: true, Prefix: textAt(p.block, "storage", "local_storage", "report_file_prefix")}
	if dir := textAt(p.block, "storage", "local_storage", "path"); dir != "" {
		o.Path = dir
	}
	o.Detailed, _ = scalar.Bool(at(p.block, "report", "request_lifecycle", "per_request"))
	for _, s := range texts(at(p.block, "report", "request_lifecycle", "percentiles")) {
		if x, err := percentile(scalar.Node(s)); err == nil {
			o.Percentiles = append(o.Percentiles, x)
		}
	}
	p.req.Outputs = append(p.req.Outputs, o)
}
