package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
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

// NumberOf is the number that a piece of JSON is; false for anything else.
func NumberOf(raw json.RawMessage) (float64, bool) {
	v, err := strconv.ParseFloat(string(raw), 64)
	return v, err == nil
}

// Members are the members of an object in their order, for names that a tool chooses: a tenth of the time of a map. An
// object that is read may have one name twice.
type Members[T any] []Member[T]

// Member is a member of an object.
type Member[T any] struct {
	Name  string
	Value T
}

// Fields of a Member.
const (
	memberName = iota
	memberValue
)

// ordered is Members of any type.
type ordered interface{ isOrdered() }

func (Members[T]) isOrdered() {}

// Get returns the value of a name: of two the last, as encoding/json does.
func (m Members[T]) Get(name string) (T, bool) {
	for i := len(m) - 1; i >= 0; i-- {
		if m[i].Name == name {
			return m[i].Value, true
		}
	}
	var none T
	return none, false
}

// MarshalJSON writes an object.
func (m Members[T]) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	d := newDocument(context.Background(), &out)
	err := d.any(reflect.ValueOf(m), 0)
	return append(out.Bytes(), d.buf...), err
}

// UnmarshalJSON reads an object.
func (m *Members[T]) UnmarshalJSON(data []byte) error {
	if string(data) == null {
		*m = nil
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		var object map[string]T
		return json.Unmarshal(data, &object) // which says what is wrong
	}
	for *m = append(Members[T]{}, *m...); dec.More(); {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		member := Member[T]{Name: name.(string)}
		if err := dec.Decode(&member.Value); err != nil {
			return err
		}
		*m = append(*m, member)
	}
	return nil
}

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
