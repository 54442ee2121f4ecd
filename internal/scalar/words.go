package scalar

import (
	"errors"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/problem"
)

// NotOneOf is the error of a value that is none of words; it names the nearest.
func NotOneOf(n *yaml.Node, words []string) error {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	want := strings.Join(quoted, ", ")
	if len(words) > 1 {
		want = "one of " + want
	}
	err := Want(want, n)
	s, _ := text(n)
	return errors.New(err.Error() + problem.Nearest(s, words))
}

// Node is text as a node: for words that come from a flag or a variable and not from a file.
func Node(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
}
