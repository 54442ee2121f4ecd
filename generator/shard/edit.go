package shard

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// edit changes one place of a document: Path leads there by keys and indexes, Value is what stands there then. Without
// a value the key goes.
type edit struct {
	Path  []any
	Value any
	Gone  bool
}

// MarshalJSON writes [path, value], or [path] for a key that goes.
func (e edit) MarshalJSON() ([]byte, error) {
	if e.Gone {
		return json.Marshal([]any{e.Path})
	}
	return json.Marshal([]any{e.Path, e.Value})
}

var errEdit = errors.New("an edit is [path] or [path, value]")

// UnmarshalJSON reads what MarshalJSON writes.
func (e *edit) UnmarshalJSON(b []byte) error {
	v, err := decode(b)
	if err != nil {
		return err
	}
	parts, ok := v.([]any)
	if !ok || len(parts) < 1 || len(parts) > 2 {
		return errEdit
	}
	if e.Path, ok = parts[0].([]any); !ok {
		return errEdit
	}
	if e.Gone = len(parts) == 1; !e.Gone {
		e.Value = parts[1]
	}
	return nil
}

// diff returns the edits that make b of a. Documents of one matrix differ in few values, so lists are compared item by
// item where they are equally long and replaced as a whole else.
func diff(a, b any) []edit {
	var out []edit
	compare([]any{}, a, b, &out)
	return out
}

func compare(path []any, a, b any, out *[]edit) {
	switch was := a.(type) {
	case map[string]any:
		if is, ok := b.(map[string]any); ok {
			compareMaps(path, was, is, out)
			return
		}
	case []any:
		if is, ok := b.([]any); ok && len(was) == len(is) {
			for i := range was {
				compare(append(path[:len(path):len(path)], i), was[i], is[i], out)
			}
			return
		}
	default:
		if _, ok := b.(map[string]any); !ok {
			if _, ok := b.([]any); !ok && a == b {
				return
			}
		}
	}
	*out = append(*out, edit{Path: path, Value: b})
}

func compareMaps(path []any, was, is map[string]any, out *[]edit) {
	for _, key := range slices.Sorted(maps.Keys(was)) {
		here := append(path[:len(path):len(path)], key)
		if now, ok := is[key]; ok {
			compare(here, was[key], now, out)
		} else {
			*out = append(*out, edit{Path: here, Gone: true})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(is)) {
		if _, ok := was[key]; !ok {
			*out = append(*out, edit{Path: append(path[:len(path):len(path)], key), Value: is[key]})
		}
	}
}

// apply carries edits out on doc, which it changes, and returns the new document.
func apply(doc any, edits []edit) (any, error) {
	for _, e := range edits {
		var err error
		if doc, err = e.apply(doc, e.Path); err != nil {
			return nil, fmt.Errorf("changing %v: %w", e.Path, err)
		}
	}
	return doc, nil
}

func (e edit) apply(at any, path []any) (any, error) {
	if len(path) == 0 {
		if e.Gone {
			return nil, errors.New("a whole document cannot go")
		}
		return e.Value, nil
	}
	switch at := at.(type) {
	case map[string]any:
		key, ok := path[0].(string)
		if !ok {
			return nil, fmt.Errorf("%v is no key", path[0])
		}
		if e.Gone && len(path) == 1 {
			delete(at, key)
			return at, nil
		}
		child, err := e.apply(at[key], path[1:])
		at[key] = child
		return at, err
	case []any:
		i, ok := index(path[0])
		if !ok || i >= len(at) || e.Gone && len(path) == 1 {
			return nil, fmt.Errorf("%v is no index of a list of %d", path[0], len(at))
		}
		child, err := e.apply(at[i], path[1:])
		at[i] = child
		return at, err
	default:
		return nil, errors.New("there is neither a list nor a mapping")
	}
}

// index is a place in a list, as made here or as read.
func index(v any) (int, bool) {
	switch v := v.(type) {
	case int:
		return v, v >= 0
	case json.Number:
		n, err := v.Int64()
		return int(n), err == nil && n >= 0
	}
	return 0, false
}
