package format

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"bflow.dev/bflow/generator/spec"
)

// look returns what stands at path below tree, nil where there is nothing. A path is dotted; [*] visits a whole list,
// and the result is the list of what is found.
func look(t *testing.T, tree any, path string) any {
	t.Helper()
	if before, after, each := strings.Cut(path, "[*]"); each {
		list, _ := look(t, tree, before).([]any)
		all := make([]any, len(list))
		for i, item := range list {
			if all[i] = item; after != "" {
				all[i] = look(t, item, strings.TrimPrefix(after, "."))
			}
		}
		return all
	}
	parsed, err := spec.ParsePath(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, seg := range parsed {
		tree = step(tree, seg)
	}
	return tree
}

func step(tree any, seg spec.Seg) any {
	switch tree := tree.(type) {
	case map[string]any:
		return tree[seg.Key]
	case []any:
		if seg.Key == "" && seg.Index < len(tree) {
			return tree[seg.Index]
		}
	}
	return nil
}

// differs says where got is not what a row wants. A mapping may hold more than is wanted, a list may not; null wants
// nothing to be there.
func differs(at string, want, got any) []string {
	switch want := want.(type) {
	case map[string]any:
		fields, ok := got.(map[string]any)
		if !ok || len(want) == 0 && len(fields) > 0 {
			break
		}
		var out []string
		for key, w := range want {
			out = append(out, differs(at+"."+key, w, fields[key])...)
		}
		return out
	case []any:
		items, ok := got.([]any)
		if !ok || len(items) != len(want) {
			break
		}
		var out []string
		for i, w := range want {
			out = append(out, differs(at+"["+strconv.Itoa(i)+"]", w, items[i])...)
		}
		return out
	case int:
		if got == float64(want) {
			return nil
		}
	default:
		if reflect.DeepEqual(want, got) {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s: want %v, got %v", at, want, got)}
}
