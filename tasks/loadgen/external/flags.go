package external

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// flagName spells a key as a flag.
func flagName(key string) string { return "--" + strings.ReplaceAll(key, "_", "-") }

// text spells a value as tools read it on a command line: numbers without an exponent, maps and lists as JSON.
func text(x any) string {
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

// list returns the elements of a list, or the one value that is none.
func list(x any) []any {
	switch x := x.(type) {
	case nil:
		return nil
	case []any:
		return x
	}
	return []any{x}
}

// flags spells a flat block: true and "none" are a bare flag, false and nothing are left out, a list repeats the flag.
func flags(block map[string]any) []string {
	var out []string
	for _, key := range sortedKeys(block) {
		for _, v := range list(block[key]) {
			switch v {
			case nil, false, "":
			case true, "none":
				out = append(out, flagName(key))
			default:
				out = append(out, flagName(key), text(v))
			}
		}
	}
	return out
}

// setDefault sets key where the block does not.
func setDefault(block map[string]any, key string, v any) {
	if _, ok := block[key]; !ok {
		block[key] = v
	}
}

// child returns the map below key, an empty one where there is none.
func child(block map[string]any, key string) map[string]any {
	m, ok := block[key].(map[string]any)
	if !ok {
		m = map[string]any{}
		block[key] = m
	}
	return m
}

// remove takes keys out of the block.
func remove(block map[string]any, keys ...string) {
	for _, k := range keys {
		delete(block, k)
	}
}
