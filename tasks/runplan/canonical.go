package runplan

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/gowebpki/jcs"
)

// Canonical returns v as canonical JSON (RFC 8785): sorted keys, no blanks, one spelling per number and string.
//
// Equal values have equal bytes, whatever built them.
func Canonical(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encoding %T as JSON: %w", v, err)
	}
	out, err := jcs.Transform(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("writing %T as canonical JSON: %w", v, err)
	}
	return out, nil
}
