package compile

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// document writes obj as one YAML document: keys sorted, without the fields that only a server fills in.
func document(b *bytes.Buffer, obj any) error {
	tree, err := tree(obj)
	if err != nil {
		return err
	}
	prune(tree)
	b.WriteString("---\n")
	y := yamlWriter{b}
	y.mapping(tree, 0)
	return nil
}

// tree returns obj as maps, lists and scalars, numbers as written.
func tree(obj any) (map[string]any, error) {
	text, err := marshal(obj)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var t map[string]any
	if err := dec.Decode(&t); err != nil {
		return nil, fmt.Errorf("reading %T back: %w", obj, err)
	}
	return t, nil
}

// marshal is json.Marshal without the escapes that only HTML needs.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encoding %T: %w", v, err)
	}
	return b.Bytes(), nil
}

// prune drops what Go types write although nobody set it: an empty status or metadata, a creation time.
func prune(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			prune(item)
		}
	case map[string]any:
		for key, child := range v {
			prune(child)
			if unset(key, child) {
				delete(v, key)
			}
		}
	}
}

func unset(key string, v any) bool {
	switch key {
	case "creationTimestamp":
		return v == nil
	case "status", "metadata":
		m, ok := v.(map[string]any)
		return ok && len(m) == 0
	default:
		return false
	}
}
