package standalone

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/tasks/loadgen/words"
)

// guidellm makes the report what the words ask for: with so many requests, with the person's own values, and as the kind
// of file.
func (o *output) guidellm(data []byte) ([]byte, error) {
	if g := o.Generation; o.Format == words.FormatGuideLLM && g != "" && g != "0.7" {
		o.note("the report has the schema of GuideLLM 0.8, not that of %s", g)
	}
	ext := strings.ToLower(filepath.Ext(o.Path))
	isYAML := ext == ".yaml" || ext == ".yml"
	if !isYAML && o.Rows == 0 && len(o.Extras) == 0 {
		return data, nil
	}
	var doc object
	if err := decode(data, &doc); err != nil {
		return nil, fmt.Errorf("reading the report: %w", err)
	}
	benchmarks, _ := doc["benchmarks"].([]any)
	for _, b := range benchmarks {
		if b, ok := b.(object); ok {
			o.trim(b)
		}
	}
	if isYAML {
		return asYAML(doc)
	}
	return encode(doc, "  ")
}

// trim leaves the first requests of each status in a benchmark and adds the person's values.
func (o *output) trim(b object) {
	if o.Rows > 0 {
		lists, _ := b["requests"].(object)
		samples, _ := b["request_samples"].(object) // 0.3.1 counts what is shown
		total := 0
		for status, rows := range lists {
			rows, ok := rows.([]any)
			if !ok {
				continue
			}
			rows = rows[:min(len(rows), o.Rows)]
			lists[status], total = rows, total+len(rows)
			if samples != nil {
				samples[status] = len(rows)
			}
		}
		if samples != nil {
			samples["total"] = total
		}
		if config, ok := b["config"].(object); ok {
			config["sample_size"] = o.Rows
		}
	}
	if len(o.Extras) > 0 {
		extras, _ := b["extras"].(object)
		if extras == nil {
			extras = object{}
		}
		maps.Copy(extras, o.Extras)
		b["extras"] = extras
	}
}

// asYAML writes a document as YAML, which JSON is already but for the looks of it.
func asYAML(doc object) ([]byte, error) {
	text, err := encode(doc, "")
	if err != nil {
		return nil, err
	}
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
