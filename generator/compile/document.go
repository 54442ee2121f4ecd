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

// prune drops what Go types write although nobody set it: a status, an empty creation time.
func prune(tree map[string]any) {
	for key, v := range tree {
		child, isMap := v.(map[string]any)
		switch {
		case key == "creationTimestamp" && v == nil, key == "status" && isMap && len(child) == 0, key == "metadata" && isMap && len(child) == 0:
			delete(tree, key)
		case isMap:
			prune(child)
		}
	}
}
