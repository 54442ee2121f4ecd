package v02

import (
	"encoding/json"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// WriteYAML writes a document that Convert or Empty made; the comment says where it comes from.
func WriteYAML(w io.Writer, d any, comment string) error {
	if _, err := fmt.Fprintf(w, "# %s\n", comment); err != nil {
		return err
	}
	enc := yaml.NewEncoder(w)
	enc.SetIndent(2)
	if err := enc.Encode(d); err != nil {
		return fmt.Errorf("writing benchmark report %s: %w", Version, err)
	}
	return enc.Close()
}

// WriteJSON writes such a document as indented JSON.
func WriteJSON(w io.Writer, d any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(d); err != nil {
		return fmt.Errorf("writing benchmark report %s: %w", Version, err)
	}
	return nil
}
