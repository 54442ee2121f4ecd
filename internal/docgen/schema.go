package main

import (
	"bytes"
	"fmt"
	"io"

	"bflow.dev/bflow/generator/spec"
)

// writeSchema writes the JSON Schema with a comment that says where it comes from.
func writeSchema(w io.Writer) error {
	text, err := spec.Schema()
	if err != nil {
		return err
	}
	rest, ok := bytes.CutPrefix(text, []byte("{\n"))
	if !ok {
		return fmt.Errorf("the schema begins with %.10q, not with an object", text)
	}
	_, err = fmt.Fprintf(w, "{\n  \"$comment\": \"Generated from the types of package spec by go generate "+
		"./internal/docgen: do not edit.\",\n%s\n", bytes.TrimRight(rest, "\n"))
	return err
}
