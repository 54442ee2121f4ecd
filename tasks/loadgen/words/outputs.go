package words

import (
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/scalar"
)

// percentile reads the name of one.
func percentile(n *yaml.Node) (float64, error) {
	x, err := scalar.Number(n)
	if err != nil {
		return 0, err
	}
	most := 100.0
	return x, scalar.Range{Min: new(float64), Max: &most}.Check(n, x)
}

// guideEnding reports whether GuideLLM tells a format by the ending of name.
func guideEnding(name string) bool {
	return slices.Contains([]string{".json", ".yaml", ".yml", ".csv", ".html"}, strings.ToLower(path.Ext(name)))
}

// fileOutput adds the output that a path asks for: its ending says the format, a folder gets a benchmarks.json.
func (p *parser) fileOutput(word, name string) {
	if !guideEnding(name) {
		name = path.Join(name, "benchmarks.json")
	}
	if ext := strings.ToLower(path.Ext(name)); ext == ".csv" || ext == ".html" {
		p.leaves(word, "load-gen writes no %s file of GuideLLM: ask for json, which guidellm can turn into others", ext[1:])
		return
	}
	p.req.Outputs = append(p.req.Outputs, Output{Format: FormatGuideLLM, Path: name, Detailed: true})
}

// flatOutputs reads the outputs of 0.3 to 0.6.
func (p *parser) flatOutputs(in *flatInput) {
	rows := p.flatRows(in)
	dir := in.text("output_dir")
	if dir == "" {
		dir = "."
	}
	outputs := in.text("outputs")
	if g, ok := in.words["outputs"]; ok && g.value.Kind == yaml.SequenceNode {
		outputs = strings.Join(texts(g.value), ",")
	}
	_, inDir := in.words["output_dir"]
	switch {
	case in.text("output_path") != "":
		p.fileOutput(in.words["output_path"].word, in.text("output_path"))
	case in.gen == "0.3":
		p.fileOutput("", ".")
	case outputs == "" && inDir && path.Ext(dir) != "":
		p.fileOutput(in.words["output_dir"].word, dir)
	case outputs == "":
		outputs = "json" // the tool writes csv and html too, which nobody asked for
	}
	for name := range strings.SplitSeq(outputs, ",") {
		p.flatOutput(in, dir, strings.Trim(name, " \"[]'"))
	}
	for i := range p.req.Outputs {
		p.req.Outputs[i].Rows = rows
		if o := &p.req.Outputs[i]; in.gen == "0.3" && o.Format == FormatGuideLLM {
			o.Format = FormatGuideLLM03
		}
		if g, ok := in.words["output_extras"]; ok {
			p.req.Outputs[i].Extras = p.extras(g)
		}
	}
}

// flatOutput adds one entry of outputs: a format in the folder, or a file of its own.
func (p *parser) flatOutput(in *flatInput, dir, name string) {
	switch name {
	case "", "console":
		return
	case "json", "yaml", "csv", "html":
		p.fileOutput(in.words["outputs"].word, path.Join(dir, "benchmarks."+name))
		return
	}
	if guideEnding(name) {
		if !path.IsAbs(name) {
			name = path.Join(dir, name)
		}
		p.fileOutput(in.words["outputs"].word, name)
		return
	}
	p.leaves(in.words["outputs"].word, "%q is no output: want console, json, yaml, csv or html", name)
}

// flatRows is how many requests an output shows.
func (p *parser) flatRows(in *flatInput) int {
	g, ok := in.first("output_sampling", "sample_requests")
	if !ok || g.value.Value == "" || strings.EqualFold(g.value.Value, "none") {
		return 0
	}
	n, err := scalar.Int(g.value)
	if err == nil {
		err = scalar.Range{Min: new(float64)}.Check(g.value, float64(n))
	}
	if err != nil {
		p.errorf(g.word, "%v", err)
	}
	return max(n, 0)
}

func (p *parser) extras(g given) map[string]any {
	n := p.structured(g)
	if n == nil || n.Kind != yaml.MappingNode {
		p.errorf(g.word, "want JSON such as {\"team\": \"search\"}")
		return nil
	}
	var out map[string]any
	if err := n.Decode(&out); err != nil {
		p.errorf(g.word, "reading JSON: %v", err)
	}
	return out
}

// typedOutputs reads the outputs of 0.7 and later.
func (p *parser) typedOutputs(plural, singular *yaml.Node, set settings) {
	if plural == nil {
		plural = singular
	}
	var items []*yaml.Node
	if plural != nil && plural.Kind == yaml.SequenceNode {
		items = plural.Content
	} else if plural != nil {
		items = []*yaml.Node{plural}
	}
	dir := set.values["DEFAULT_RESULTS_DIR"]
	if plural == nil {
		p.fileOutput("", path.Join(dir, "benchmarks.json"))
	}
	for _, n := range items {
		if n.Kind == yaml.ScalarNode {
			n = p.typedValue(p.word(n.Line), n.Value)
		}
		p.typedOutput(n, dir)
	}
	if v := at(p.block, "metrics", "sample_size"); v != nil {
		if rows, err := scalar.Int(v); err == nil && rows > 0 {
			for i := range p.req.Outputs {
				p.req.Outputs[i].Rows = rows
			}
		}
	}
}

func (p *parser) typedOutput(n *yaml.Node, dir string) {
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	kind, name, word := textAt(n, "kind"), textAt(n, "path"), p.word(n.Line)
	if !slices.Contains([]string{"json", "yaml", "csv", "html", "console", "plot"}, kind) {
		p.leaves(word, "%q is no output: want console, json, yaml, csv or html", kind)
		return
	}
	switch kind {
	case "console":
		return
	case "plot":
		p.only(word+" kind=plot", "GuideLLM")
		return
	}
	if path.Ext(name) == "" {
		if name == "" {
			name = dir
		}
		name = path.Join(name, "benchmarks."+kind)
	}
	if kind == "json" || kind == "yaml" { // whatever the file is called
		p.req.Outputs = append(p.req.Outputs, Output{Format: FormatGuideLLM, Path: name, Detailed: true})
		return
	}
	p.fileOutput(word, name)
}
