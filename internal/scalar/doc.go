// Package scalar turns the scalars of a YAML tree into values: what 'No', " TRUE ", 0x10 and 1h30m mean is said here
// and nowhere else, and so are the sentences about a scalar that does not fit. Blanks round a scalar and quotes are no
// part of it; one of blanks alone says nothing, as null does: see Blank. The package knows no field of any format.
package scalar

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Null reports whether n says nothing: absent, empty, ~ or null.
func Null(n *yaml.Node) bool {
	return n == nil || n.Kind == 0 || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// Blank reports whether n is null or holds nothing but blanks.
func Blank(n *yaml.Node) bool {
	return Null(n) || n.Kind == yaml.ScalarNode && strings.TrimSpace(n.Value) == ""
}

// Quoted reports whether a scalar is text by its spelling.
func Quoted(n *yaml.Node) bool {
	return n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
}

// PlainTag is the YAML tag of an unquoted scalar.
func PlainTag(text string) string {
	n := yaml.Node{Kind: yaml.ScalarNode, Value: text}
	return n.ShortTag()
}

// longest is how much of a value an error repeats, in bytes.
const longest = 120

// Found describes a value for "want X, found Y".
func Found(n *yaml.Node) string {
	switch {
	case Null(n):
		return "nothing"
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	}
	return Quote(n.Value)
}

// Quote is text in quotes, its end left out where it is long.
func Quote(text string) string {
	if len(text) > longest {
		return strconv.Quote(strings.ToValidUTF8(text[:longest], "")) + "..."
	}
	return strconv.Quote(text)
}

// Plain is a number as a person writes it, without an exponent.
func Plain(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// Want is the error of a value that is not what it should be: "want a mapping, found a list".
func Want(what string, n *yaml.Node) error { return fmt.Errorf("want %s, found %s", what, Found(n)) }

// WantMapping is Want of a mapping.
func WantMapping(n *yaml.Node) error { return Want("a mapping", n) }

// WantMappingUnseen is WantMapping where a credential may stand in the place of where it is: it repeats no text.
func WantMappingUnseen(n *yaml.Node) error {
	if n != nil && n.Kind == yaml.ScalarNode && !Null(n) {
		return errors.New("want a mapping, found a text that is not shown")
	}
	return WantMapping(n)
}

// WantValues is the error of a list without entries.
func WantValues() error { return errors.New("want at least one value, found none") }

// text returns the source of a scalar without the blanks round it; ok is false for a mapping, a list, and null.
func text(n *yaml.Node) (string, bool) {
	if n == nil || n.Kind != yaml.ScalarNode {
		return "", false
	}
	return strings.TrimSpace(n.Value), true
}

// Text returns the source of a scalar without the blanks round it: 1.10 stays "1.10" and true "true".
func Text(n *yaml.Node) (string, error) {
	s, ok := text(n)
	if !ok {
		return "", Want("text", n)
	}
	return s, nil
}
