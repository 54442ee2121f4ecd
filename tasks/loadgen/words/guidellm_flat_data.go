package words

import (
	"path"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/load"
)

// flatData reads data and what goes with it.
func (p *parser) flatData(in *flatInput) {
	g, ok := in.words["data"]
	if !ok {
		p.missing("no data is named: set --data, such as prompt_tokens=256,output_tokens=128")
		return
	}
	if g.value.Kind == yaml.SequenceNode {
		if len(g.value.Content) != 1 {
			p.only(g.word, "GuideLLM")
			return
		}
		g.value = g.value.Content[0]
	}
	data := g.value
	if data.Kind == yaml.ScalarNode {
		data = p.flatDataText(g.word, strings.TrimSpace(data.Value))
	}
	put(p.block, data, "data")
	p.flatDataRest(in, data)
}

// fileKinds are the kinds of files of prompts by their endings.
func fileKinds() map[string]string {
	return map[string]string{".csv": "csv_file", ".json": "json_file", ".jsonl": "json_file", ".txt": "text_file", ".parquet": "parquet_file"}
}

// flatDataText reads k=v pairs, JSON, a file of settings or prompts, or the name of a data set.
func (p *parser) flatDataText(word, text string) *yaml.Node {
	kind, prompts := fileKinds()[strings.ToLower(path.Ext(text))]
	switch {
	case strings.HasPrefix(text, "{"):
		return p.json(word, text)
	case strings.Contains(text, "="):
		return p.pairs(word, text)
	case prompts:
		n := mapping()
		set(n, "kind", p.text(word, kind))
		set(n, "path", p.text(word, text))
		return n
	case strings.HasSuffix(text, ".yaml"), strings.HasSuffix(text, ".yml"), strings.HasSuffix(text, ".config"):
		return p.file(word, text)
	default:
		p.only(word, "GuideLLM")
		return nil
	}
}

// pairs is the mapping that "k=v,k=v" stands for.
func (p *parser) pairs(word, text string) *yaml.Node {
	n := load.Mapping(p.text(word, text))
	if n == nil || n.Kind != yaml.MappingNode {
		p.errorf(word, "want k=v,k=v such as prompt_tokens=256,output_tokens=128")
		return nil
	}
	return n
}

// flatDataRest reads how data is sampled and which of its columns count.
func (p *parser) flatDataRest(in *flatInput, data *yaml.Node) {
	if g, ok := in.words["data_samples"]; ok {
		put(p.block, g.value, "data_loader", "samples")
	}
	if g, ok := in.words["data_sampler"]; ok {
		switch {
		case g.value.Value == "random" && data != nil && child(data, "path") != nil:
			put(p.block, p.text(g.word, "true"), "data_loader", "shuffle")
		case g.value.Value == "random" || g.value.Value == "":
			p.warnf(g.word, "has no effect on text that is made up")
		default:
			p.only(g.word, "GuideLLM")
		}
	}
	if g, ok := in.words["data_column_mapper"]; ok && g.value.Value != "generative_column_mapper" {
		if columns := p.structured(g); columns != nil && columns.Kind == yaml.MappingNode {
			put(p.block, p.text(g.word, "generative_column_mapper"), "data_column_mapper", "kind")
			put(p.block, columns, "data_column_mapper", "column_mappings")
		} else if columns != nil {
			p.only(g.word, "GuideLLM")
		}
	}
	if g, ok := in.words["data_args"]; ok {
		p.dataArguments(g)
	}
}

// dataArguments reads the columns that data_args names; the rest is about how a data set is fetched.
func (p *parser) dataArguments(g given) {
	args := p.structured(g)
	if args != nil && args.Kind == yaml.SequenceNode && len(args.Content) == 1 {
		args = p.structured(given{value: args.Content[0], word: g.word})
	}
	keys(args, func(k, v *yaml.Node) {
		switch k.Value {
		case "prompt_column":
			put(p.block, v, "data_column_mapper", "column_mappings", "text_column")
		case "output_tokens_count_column":
			put(p.block, v, "data_column_mapper", "column_mappings", "output_tokens_count_column")
		default:
			if !isNull(v) {
				p.only(g.word+" "+k.Value, "GuideLLM")
			}
		}
	})
}
