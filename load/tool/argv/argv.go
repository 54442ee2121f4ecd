// Package argv spells the blocks of tools as the arguments of their command lines.
package argv

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// SortedKeys are the keys of a block in order.
func SortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// FlagName spells a key as a flag.
func FlagName(key string) string { return "--" + strings.ReplaceAll(key, "_", "-") }

// Text spells a value as tools read it on a command line: numbers without an exponent, maps and lists as JSON.
func Text(x any) string {
	switch x := x.(type) {
	case string:
		return x
	case bool:
		return strconv.FormatBool(x)
	case float64:
		return strconv.FormatFloat(x, 'f', -1, 64)
	case nil:
		return ""
	}
	data, err := json.Marshal(x)
	if err != nil { // it came from JSON
		return fmt.Sprint(x)
	}
	return string(data)
}

// List returns the elements of a list, or the one value that is none.
func List(x any) []any {
	switch x := x.(type) {
	case nil:
		return nil
	case []any:
		return x
	}
	return []any{x}
}

// Flags spells a flat block: true and "none" are a bare flag, false and nothing are left out, a list repeats the flag.
func Flags(block map[string]any) []string {
	var out []string
	for _, key := range SortedKeys(block) {
		for _, v := range List(block[key]) {
			switch v {
			case nil, false, "":
			case true, "none":
				out = append(out, FlagName(key))
			default:
				out = append(out, FlagName(key), Text(v))
			}
		}
	}
	return out
}

// SetDefault sets key where the block does not.
func SetDefault(block map[string]any, key string, v any) {
	if _, ok := block[key]; !ok {
		block[key] = v
	}
}

// Child returns the map below key, an empty one where there is none.
func Child(block map[string]any, key string) map[string]any {
	m, ok := block[key].(map[string]any)
	if !ok {
		m = map[string]any{}
		block[key] = m
	}
	return m
}

// Remove takes keys out of the block.
func Remove(block map[string]any, keys ...string) {
	for _, k := range keys {
		delete(block, k)
	}
}
