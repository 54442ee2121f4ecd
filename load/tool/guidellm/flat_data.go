package guidellm

import (
	"path"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/tree"
)

// putData reads data and what goes with it.
func putData(c *tool.CommandLine, in *flatInput) {
	g, ok := in.words["data"]
	if !ok {
		c.Missing("no data is named: set --data, such as prompt_tokens=256,output_tokens=128")
		return
	}
	if g.value.Kind == yaml.SequenceNode {
		if len(g.value.Content) != 1 {
			c.ToolOnly(g.word, "GuideLLM")
			return
		}
		g.value = g.value.Content[0]
	}
	data := g.value
	if data.Kind == yaml.ScalarNode {
		data = readDataText(c, g.word, strings.TrimSpace(data.Value))
	}
	c.Put(data, "data")
	putDataRest(c, in, data)
}

// fileKinds are the kinds of files of prompts by their endings.
func fileKinds() map[string]string {
	return map[string]string{".csv": "csv_file", ".json": "json_file", ".jsonl": "json_file", ".txt": "text_file",
		".parquet": "parquet_file"}
}

// readDataText reads k=v pairs, JSON, a file of settings or prompts, or the name of a data set.
func readDataText(c *tool.CommandLine, word, text string) *yaml.Node {
	kind, prompts := fileKinds()[strings.ToLower(path.Ext(text))]
	switch {
	case strings.HasPrefix(text, "{"):
		return c.JSON(word, text)
	case strings.Contains(text, "="):
		return readPairs(c, word, text)
	case prompts:
		n := tree.Mapping()
		tree.Set(n, "kind", c.Text(word, kind))
		tree.Set(n, "path", c.Text(word, text))
		return n
	case strings.HasSuffix(text, ".yaml"), strings.HasSuffix(text, ".yml"), strings.HasSuffix(text, ".config"):
		return c.File(word, text)
	default:
		c.ToolOnly(word, "GuideLLM")
		return nil
	}
}

// readPairs is the mapping that "k=v,k=v" stands for.
func readPairs(c *tool.CommandLine, word, text string) *yaml.Node {
	n := tool.Mapping(c.Text(word, text))
	if n == nil || n.Kind != yaml.MappingNode {
		c.Errorf(word, "want k=v,k=v such as prompt_tokens=256,output_tokens=128")
		return nil
	}
	return n
}

// putDataRest reads how data is sampled and which of its columns count.
func putDataRest(c *tool.CommandLine, in *flatInput, data *yaml.Node) {
	if g, ok := in.words["data_samples"]; ok {
		c.Put(g.value, "data_loader", "samples")
	}
	if g, ok := in.words["data_sampler"]; ok {
		switch {
		case g.value.Value == "random" && data != nil && tree.Child(data, "path") != nil:
			c.PutText(g.word, "true", "data_loader", "shuffle")
		case g.value.Value == "random" || g.value.Value == "":
			c.Warnf(g.word, "has no effect on text that is made up")
		default:
			c.ToolOnly(g.word, "GuideLLM")
		}
	}
	if g, ok := in.words["data_column_mapper"]; ok && g.value.Value != "generative_column_mapper" {
		if columns := readStructured(c, g); columns != nil && columns.Kind == yaml.MappingNode {
			c.PutText(g.word, "generative_column_mapper", "data_column_mapper", "kind")
			c.Put(columns, "data_column_mapper", "column_mappings")
		} else if columns != nil {
			c.ToolOnly(g.word, "GuideLLM")
		}
	}
	if g, ok := in.words["data_args"]; ok {
		putDataArguments(c, g)
	}
}

// putDataArguments reads the columns that data_args names; the rest is about how a data set is fetched.
func putDataArguments(c *tool.CommandLine, g given) {
	args := readStructured(c, g)
	if args != nil && args.Kind == yaml.SequenceNode && len(args.Content) == 1 {
		args = readStructured(c, given{value: args.Content[0], word: g.word})
	}
	tree.Keys(args, func(k, v *yaml.Node) {
		switch k.Value {
		case "prompt_column":
			c.Put(v, "data_column_mapper", "column_mappings", "text_column")
		case "output_tokens_count_column":
			c.Put(v, "data_column_mapper", "column_mappings", "output_tokens_count_column")
		default:
			if !tree.IsNull(v) {
				c.ToolOnly(g.word+" "+k.Value, "GuideLLM")
			}
		}
	})
}
