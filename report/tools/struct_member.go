package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Maybe is a member that is absent, null or a value, for formats in which these differ. Its tag says omitzero.
type Maybe[T any] struct {
	Present bool
	Value   *T // nil = null
}

// Some returns a member that is there; nil is null.
func Some[T any](value *T) Maybe[T] { return Maybe[T]{Present: true, Value: value} }

// IsZero says whether the member is absent.
func (m Maybe[T]) IsZero() bool { return !m.Present }

// MarshalJSON writes the value or null.
func (m Maybe[T]) MarshalJSON() ([]byte, error) { return marshal(m.Value) }

// UnmarshalJSON reads a value or null. A value of another type counts as absent.
func (m *Maybe[T]) UnmarshalJSON(data []byte) error {
	var v *T
	if json.Unmarshal(data, &v) == nil {
		*m = Some(v)
	}
	return nil
}

// Null is a member of which bflow knows nothing: it is null when written, and what a file has there is not kept. It is
// a map because that is small, and because encoding/json writes a nil one without calling a method.
type Null map[string]struct{}

// UnmarshalJSON takes anything and keeps nothing.
func (*Null) UnmarshalJSON([]byte) error { return nil }

// Free is the members of an object whose names and values a person or a tool chooses.
type Free map[string]json.RawMessage

// NewFree returns free members with the given values.
func NewFree[T any](values map[string]T) (Free, error) {
	out := Free{}
	for name, v := range values {
		text, err := marshal(v)
		if err != nil {
			return nil, fmt.Errorf("writing %q: %w", name, err)
		}
		out[name] = text
	}
	return out, nil
}

// FreeTexts returns free members that are texts.
func FreeTexts(texts map[string]string) Free {
	out, _ := NewFree(texts) // a text can always be written
	return out
}

// marshal is json.Marshal that leaves <, > and & as they are.
func marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}
