package cluster

import (
	"strings"

	"bflow.dev/bflow/internal/credential"
)

// hidden stands for what is not written down.
const hidden = "[hidden]"

// redact removes from an object what nobody should find in an artifact: data of Secrets, values of variables and
// arguments that are named like credentials; and what only a server reads.
func redact(object map[string]any) {
	if meta, ok := object["metadata"].(map[string]any); ok {
		delete(meta, "managedFields")
		if notes, ok := meta["annotations"].(map[string]any); ok {
			delete(notes, "kubectl.kubernetes.io/last-applied-configuration")
		}
	}
	if object["kind"] == "Secret" {
		delete(object, "data")
		delete(object, "stringData")
	}
	walk(object)
}

func walk(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			walk(item)
		}
	case map[string]any:
		if name, ok := v["name"].(string); ok && credential.Name(name) {
			if value, ok := v["value"].(string); ok && !credential.Harmless(value) {
				v["value"] = hidden
			}
		}
		for key, child := range v {
			if list, ok := child.([]any); ok && (key == "args" || key == "command") {
				hideArgs(list)
			}
			walk(child)
		}
	}
}

// hideArgs hides "--api-key=x", and x after "--api-key".
func hideArgs(list []any) {
	next := false
	for i := range list {
		text, _ := list[i].(string)
		name, value, joined := strings.Cut(text, "=")
		flag := strings.HasPrefix(name, "-")
		switch {
		case next && !flag:
			list[i] = hidden
		case flag && joined && credential.Name(name) && !credential.Harmless(value):
			list[i] = name + "=" + hidden
		}
		next = flag && !joined && credential.Name(name)
	}
}
