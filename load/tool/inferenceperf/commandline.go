package inferenceperf

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/scalar"
	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/tree"
)

// roots are the keys at the top of inference-perf's configuration.
func roots() []string {
	return []string{"api", "data", "load", "metrics", "report", "storage", "server", "tokenizer", "circuit_breakers"}
}

// Parse reads a configuration file and flags --a.b.c value, which are the same tree.
func (Tool) Parse(c *tool.CommandLine, args []string) {
	block := tree.Mapping()
	for _, f := range parseFlags(c, args) {
		switch path := strings.Split(strings.TrimLeft(f.Word, "-"), "."); {
		case len(path) > 1:
			tree.Put(block, c.JSON(f.Word, f.Values[0]), path...)
		case tree.Child(block, f.Name) == nil:
			parseTop(c, block, f)
		}
	}
	c.Block = block
	parseServer(c)
	parseOutputs(c)
	c.Take("storage")
}

// parseTop reads a flag of one word: the file, or a whole part of the tree as JSON.
func parseTop(c *tool.CommandLine, block *yaml.Node, f tool.Flag) {
	switch f.Name {
	case "c", "config-file":
		if n := c.File(f.Word, f.Values[0]); n != nil {
			tree.Fill(block, n)
		}
	case "log-level":
		c.Request.Quiet = c.Request.Quiet || strings.EqualFold(f.Values[0], "error")
	case "analyze", "a", "unified-analysis-dir", "u":
		c.ToolOnly(f.Word, "inference-perf")
	default:
		tree.Put(block, c.JSON(f.Word, f.Values[0]), strings.ReplaceAll(f.Name, "-", "_"))
	}
}

// parseFlags reads the flags, those of the tree before the file, which is weaker.
func parseFlags(c *tool.CommandLine, args []string) []tool.Flag {
	known := []string{"--config_file", "--log-level"}
	for _, r := range roots() {
		known = append(known, "--"+r)
	}
	takes := func(name string) (tool.Arity, bool) {
		root, _, _ := strings.Cut(name, ".")
		for _, k := range append(roots(), "c", "config-file", "log-level", "analyze", "a", "unified-analysis-dir", "u") {
			if strings.ReplaceAll(k, "_", "-") == root {
				return tool.One, true
			}
		}
		return tool.One, false
	}
	var ofTree, rest []tool.Flag
	for _, f := range c.ReadFlags(args, takes, func(word string) { c.Unknown(word, known) }) {
		if f.Name == "c" || f.Name == "config-file" {
			rest = append(rest, f)
		} else {
			ofTree = append(ofTree, f)
		}
	}
	return append(ofTree, rest...)
}

func parseServer(c *tool.CommandLine) {
	if n := c.Take("server", "base_url"); n != nil {
		c.SetEndpoint(c.Word(n.Line), n.Value)
	}
	c.Request.Model = c.TakeText("server", "model_name")
	if key := c.TakeText("server", "api_key"); key != "" {
		c.Request.Key = tool.Key(key)
	}
	if n := c.At("server", "type"); n != nil && n.Value == "mock" {
		c.ToolOnly(c.Word(n.Line), "inference-perf")
	}
}

// parseOutputs reads where reports go and what they hold.
func parseOutputs(c *tool.CommandLine) {
	for _, cloud := range []string{"google_cloud_storage", "simple_storage_service"} {
		if n := c.At("storage", cloud); n != nil {
			c.ToolOnly(c.Word(n.Line), "inference-perf")
		}
	}
	o := tool.Output{Format: Format, Path: "reports", Folder: true, Prefix: tree.TextAt(c.Block, "storage",
		"local_storage", "report_file_prefix")}
	if dir := tree.TextAt(c.Block, "storage", "local_storage", "path"); dir != "" {
		o.Path = dir
	}
	o.Detailed, _ = scalar.Bool(c.At("report", "request_lifecycle", "per_request"))
	for _, s := range tree.Texts(c.At("report", "request_lifecycle", "percentiles")) {
		if x, err := tool.Percentile(scalar.Node(s)); err == nil {
			o.Percentiles = append(o.Percentiles, x)
		}
	}
	c.Request.Outputs = append(c.Request.Outputs, o)
}
