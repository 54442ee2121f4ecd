package guidellm

import (
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/scalar"
	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/tree"
)

// guideEnding reports whether GuideLLM tells a format by the ending of name.
func guideEnding(name string) bool {
	return slices.Contains([]string{".json", ".yaml", ".yml", ".csv", ".html"}, strings.ToLower(path.Ext(name)))
}

// addFile adds the output that a path asks for: its ending says the format, a folder gets a benchmarks.json.
func addFile(c *tool.CommandLine, word, name string) {
	if !guideEnding(name) {
		name = path.Join(name, reportFile)
	}
	if ext := strings.ToLower(path.Ext(name)); ext == ".csv" || ext == ".html" {
		c.LeaveOut(word, "load-gen writes no %s file of GuideLLM: ask for json, which guidellm can turn into others", ext[1:])
		return
	}
	addReport(c, name)
}

// addReport adds a report, in YAML where its name ends so.
func addReport(c *tool.CommandLine, name string) {
	ext := strings.ToLower(path.Ext(name))
	c.Request.Outputs = append(c.Request.Outputs, tool.Output{Format: Format, Path: name, Detailed: true,
		YAML: ext == ".yaml" || ext == ".yml"})
}

// addFlatOutputs reads the outputs of 0.3 to 0.6.
func addFlatOutputs(c *tool.CommandLine, in *flatInput) {
	rows := readRows(c, in)
	dir := in.text("output_dir")
	if dir == "" {
		dir = "."
	}
	outputs := in.text("outputs")
	if g, ok := in.words["outputs"]; ok && g.value.Kind == yaml.SequenceNode {
		outputs = strings.Join(tree.Texts(g.value), ",")
	}
	_, inDir := in.words["output_dir"]
	switch {
	case in.text("output_path") != "":
		addFile(c, in.words["output_path"].word, in.text("output_path"))
	case in.gen == "0.3":
		addFile(c, "", ".")
	case outputs == "" && inDir && path.Ext(dir) != "":
		addFile(c, in.words["output_dir"].word, dir)
	case outputs == "":
		outputs = "json" // the tool writes csv and html too, which nobody asked for
	}
	for name := range strings.SplitSeq(outputs, ",") {
		addFlatOutput(c, in, dir, strings.Trim(name, " \"[]'"))
	}
	for i := range c.Request.Outputs {
		o := &c.Request.Outputs[i]
		o.Rows = rows
		switch in.gen {
		case "":
		case "0.3":
			o.Format = Format03
		default:
			o.Remark = "the report has the schema of GuideLLM 0.8, not that of " + in.gen
		}
		if g, ok := in.words["output_extras"]; ok {
			o.Extras = parseExtras(c, g)
		}
	}
}

// addFlatOutput adds one entry of outputs: a format in the folder, or a file of its own.
func addFlatOutput(c *tool.CommandLine, in *flatInput, dir, name string) {
	switch name {
	case "", "console":
		return
	case "json", "yaml", "csv", "html":
		addFile(c, in.words["outputs"].word, path.Join(dir, "benchmarks."+name))
		return
	}
	if guideEnding(name) {
		if !path.IsAbs(name) {
			name = path.Join(dir, name)
		}
		addFile(c, in.words["outputs"].word, name)
		return
	}
	c.LeaveOut(in.words["outputs"].word, "%q is no output: want console, json, yaml, csv or html", name)
}

// readRows is how many requests an output shows.
func readRows(c *tool.CommandLine, in *flatInput) int {
	g, ok := in.first("output_sampling", "sample_requests")
	if !ok || g.value.Value == "" || strings.EqualFold(g.value.Value, "none") {
		return 0
	}
	n, err := scalar.Int(g.value)
	if err == nil {
		err = scalar.Range{Min: new(float64)}.Check(g.value, float64(n))
	}
	if err != nil {
		c.Errorf(g.word, "%v", err)
	}
	return max(n, 0)
}

func parseExtras(c *tool.CommandLine, g given) map[string]any {
	n := readStructured(c, g)
	if n == nil || n.Kind != yaml.MappingNode {
		c.Errorf(g.word, "want JSON such as {\"team\": \"search\"}")
		return nil
	}
	var out map[string]any
	c.Decode(g.word, n, &out)
	return out
}

// addTypedOutputs reads the outputs of 0.7 and later.
func addTypedOutputs(c *tool.CommandLine, plural, singular *yaml.Node, set settings) {
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
		addFile(c, "", path.Join(dir, reportFile))
	}
	for _, n := range items {
		if n.Kind == yaml.ScalarNode {
			n = parseTypedValue(c, c.Word(n.Line), n.Value)
		}
		addTypedOutput(c, n, dir)
	}
	if v := c.At("metrics", "sample_size"); v != nil {
		if rows, err := scalar.Int(v); err == nil && rows > 0 {
			for i := range c.Request.Outputs {
				c.Request.Outputs[i].Rows = rows
			}
		}
	}
}

func addTypedOutput(c *tool.CommandLine, n *yaml.Node, dir string) {
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	kind, name, word := tree.TextAt(n, "kind"), tree.TextAt(n, "path"), c.Word(n.Line)
	if !slices.Contains([]string{"json", "yaml", "csv", "html", "console", "plot"}, kind) {
		c.LeaveOut(word, "%q is no output: want console, json, yaml, csv or html", kind)
		return
	}
	switch kind {
	case "console":
		return
	case "plot":
		c.ToolOnly(word+" kind=plot", "GuideLLM")
		return
	}
	if path.Ext(name) == "" {
		if name == "" {
			name = dir
		}
		name = path.Join(name, "benchmarks."+kind)
	}
	if kind == "json" || kind == "yaml" { // whatever the file is called
		addReport(c, name)
		return
	}
	addFile(c, word, name)
}
