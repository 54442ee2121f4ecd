package runplan

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Canonical returns v as canonical JSON (RFC 8785): sorted keys, no blanks, one spelling per number and string.
//
// Equal values have equal bytes, whatever built them. An integer beyond 2^53 is an error, because the RFC would
// silently round it.
func Canonical(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encoding %T as JSON: %w", v, err)
	}
	c := canonicaliser{in: b.Bytes(), out: make([]byte, 0, b.Len())}
	if err := c.value(); err != nil {
		return nil, fmt.Errorf("writing %T as canonical JSON: %w", v, err)
	}
	return c.out, nil
}
