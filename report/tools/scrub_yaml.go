package tools

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/credential"
)

// largestYAML is the size above which a file is no configuration, in bytes.
const largestYAML = 4 << 20

// scrubYAML returns YAML without what may be secret, by the rules of scrubber and without comments, and how much was
// taken out; data is returned as it is where nothing is.
func scrubYAML(data []byte) ([]byte, int, error) {
	if len(data) > largestYAML {
		return nil, 0, fmt.Errorf("%d bytes are too many for YAML", len(data))
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	y := yamlScrubber{}
	for dec := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var doc yaml.Node
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, 0, err
		}
		y.node(&doc)
		if err := enc.Encode(&doc); err != nil {
			return nil, 0, err
		}
	}
	if y.n == 0 {
		return data, 0, nil
	}
	err := enc.Close()
	return out.Bytes(), y.n, err
}

type yamlScrubber struct{ n int }

func (y *yamlScrubber) node(node *yaml.Node) {
	for _, comment := range []*string{&node.HeadComment, &node.LineComment, &node.FootComment} {
		if *comment != "" {
			*comment = ""
			y.n++
		}
	}
	switch node.Kind {
	case yaml.MappingNode:
		y.mapping(node)
	case yaml.SequenceNode:
		y.sequence(node)
	case yaml.DocumentNode:
		for _, child := range node.Content {
			y.node(child)
		}
	case yaml.ScalarNode:
		if shown := credential.Text(node.Value); shown != node.Value {
			node.Value = shown
			y.n++
		}
	}
}

func (y *yamlScrubber) mapping(node *yaml.Node) {
	named := false
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		hidden := names(key)
		switch key.Value {
		case "name", "key":
			named = named || names(value)
		}
		y.node(key)
		if hidden {
			y.hide(value)
		} else {
			y.node(value)
		}
	}
	for i := 0; named && i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == "value" {
			y.hide(node.Content[i+1])
		}
	}
}

// names says whether a key names a secret; of one that is no text, whether any part of it does.
func names(key *yaml.Node) bool {
	if key.Kind == yaml.AliasNode {
		key = key.Alias
	}
	if key.Kind == yaml.ScalarNode {
		return secretName(key.Value)
	}
	for _, part := range key.Content {
		if part.Kind == yaml.ScalarNode && secretName(part.Value) {
			return true
		}
	}
	return false
}

func (y *yamlScrubber) sequence(node *yaml.Node) {
	before := ""
	for i, child := range node.Content {
		flag := len(before) > 1 && before[0] == '-' && secretName(before)
		pair := i == 1 && len(node.Content) == 2 && secretName(before)
		before = child.Value
		switch {
		case flag && (child.Value == "" || child.Value[0] != '-'), pair:
			y.hide(child)
		default:
			y.node(child)
		}
	}
}

// hide makes a value null; an alias takes what it stands for with it.
func (y *yamlScrubber) hide(node *yaml.Node) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if node.Tag == "!!null" || node.Tag == "!!bool" || node.Kind == yaml.ScalarNode && node.Value == "" {
		y.node(node)
		return
	}
	*node = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null", Anchor: node.Anchor}
	y.n++
}
