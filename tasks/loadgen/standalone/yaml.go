package standalone

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// asYAML writes a document as YAML, which JSON is already but for the looks of it.
func asYAML(text []byte) ([]byte, error) {
	var n yaml.Node
	if err := yaml.Unmarshal(text, &n); err != nil {
		return nil, fmt.Errorf("writing YAML: %w", err)
	}
	plain(&n)
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(&n); err != nil {
		return nil, fmt.Errorf("writing YAML: %w", err)
	}
	return out.Bytes(), enc.Close()
}

// plain takes the braces and quotes of JSON away where YAML needs none. Readers of YAML 1.1 take 1e-07 for a text: it
// needs a point.
func plain(n *yaml.Node) {
	n.Style = 0
	if n.Kind == yaml.ScalarNode && n.Tag == "!!float" && !strings.Contains(n.Value, ".") {
		if mantissa, exponent, ok := strings.Cut(n.Value, "e"); ok {
			n.Value = mantissa + ".0e" + exponent
		}
	}
	for _, inner := range n.Content {
		plain(inner)
	}
}
