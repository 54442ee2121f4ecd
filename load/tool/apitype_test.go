package tool

import (
	"testing"

	"bflow.dev/bflow/runplan"
)

func TestAPIType(t *testing.T) {
	for _, row := range []struct{ name, word, want string }{
		{"a path of the API", "/v1/chat/completions", runplan.APIChat},
		{"_ is -", "text_completions", runplan.APICompletions},
		{"case does not matter", "Anthropic-Messages", runplan.APIMessages},
		{"the path where requests of a type go is a word for it", RequestPath(runplan.APIMessages), runplan.APIMessages},
		{"an unknown word is no type", "audio", ""},
	} {
		if got, known := APIType(row.word); got != row.want || known != (row.want != "") {
			t.Errorf("%s: %q is %q, want %q", row.name, row.word, got, row.want)
		}
	}
}
