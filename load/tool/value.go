package tool

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/internal/scalar"
	"bflow.dev/bflow/runplan"
)

// Value is a node and the place it stands at. Its readers report what does not fit and return zero then, so
// that one pass finds every mistake. A value that is not set reads as zero without a report.
type Value struct {
	*findings
	file string
	Path string     // dotted, from the root of the document
	Node *yaml.Node // never an alias; nil = not set
	why  string     // see NeedsTool
}

// At is the value of a node that stands at a path of the same file.
func (v Value) At(n *yaml.Node, path string) Value {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if scalar.Null(n) {
		n = nil
	}
	return Value{findings: v.findings, file: v.file, Path: path, Node: n}
}

// Below returns what stands at a dotted path below v, such as stages[0].rate; where nothing does, the nearest value
// above it stands for it, under the whole path.
func (v Value) Below(path string) Value {
	at := v.Node
	for rest := path; rest != "" && at != nil; {
		var key string
		key, rest = cutKey(rest)
		next := childOf(at, key)
		if scalar.Null(next) {
			break
		}
		at = next
	}
	return v.At(at, problem.Join(v.Path, path))
}

// cutKey parts the first key or index off a dotted path. It undoes Join.
func cutKey(path string) (key, rest string) {
	path = strings.TrimPrefix(path, ".")
	if quoted, err := strconv.QuotedPrefix(strings.TrimPrefix(path, "[")); err == nil && path[0] == '[' {
		key, _ = strconv.Unquote(quoted)
		return key, path[len(quoted)+2:]
	}
	end := strings.IndexAny(path[1:], ".[") + 1
	if end == 0 {
		end = len(path)
	}
	return path[:end], path[end:]
}

// childOf returns the value of a key, or the entry at an index such as [3]; nil where there is none.
func childOf(n *yaml.Node, key string) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch n.Kind {
	case yaml.SequenceNode:
		i, err := strconv.Atoi(strings.Trim(key, "[]"))
		if err == nil && i >= 0 && i < len(n.Content) {
			return n.Content[i]
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				return n.Content[i+1]
			}
		}
	}
	return nil
}

// IsSet reports whether anything stands there.
func (v Value) IsSet() bool { return v.Node != nil }

// Is reports whether v is a node of a kind.
func (v Value) Is(kind yaml.Kind) bool { return v.Node != nil && v.Node.Kind == kind }

// IsBlank reports whether v says nothing.
func (v Value) IsBlank() bool { return scalar.Blank(v.Node) }

// IsEmpty reports a value that asks for nothing: 0, false, or empty.
func (v Value) IsEmpty() bool {
	if !v.Is(yaml.ScalarNode) {
		return len(v.Node.Content) == 0
	}
	return slices.Contains([]string{"0", "0.0", "false", ""}, v.Text())
}

// Check reports err at v, and whether there is none.
func (v Value) Check(err error) bool {
	if err != nil {
		v.Errorf("%s", err)
	}
	return err == nil
}

// read returns what of reads of v, zero where v says nothing or does not fit.
func read[T any](v Value, of func(*yaml.Node) (T, error)) T {
	var none T
	if v.IsBlank() {
		return none
	}
	x, err := of(v.Node)
	if !v.Check(err) {
		return none
	}
	return x
}

// within returns x, zero where it is out of range.
func within[T int | float64](v Value, x T, r scalar.Range) T {
	if v.IsBlank() || v.Check(r.Check(v.Node, float64(x))) {
		return x
	}
	return 0
}

// Text returns a scalar as it was written, blanks trimmed.
func (v Value) Text() string { return read(v, scalar.Text) }

// Number returns a finite number; quoted numbers count.
func (v Value) Number() float64 { return read(v, scalar.Number) }

// NumberAtLeast reports numbers below low.
func (v Value) NumberAtLeast(low float64) float64 {
	return within(v, v.Number(), scalar.Range{Min: &low})
}

// Positive returns a number above 0.
func (v Value) Positive() float64 { return within(v, v.Number(), scalar.Range{Above: new(float64)}) }

// Fraction returns a number from 0 to 1.
func (v Value) Fraction() float64 {
	most := 1.0
	return within(v, v.Number(), scalar.Range{Min: new(float64), Max: &most})
}

// Integer returns a whole number of at least low.
func (v Value) Integer(low int) int {
	least := float64(low)
	return within(v, read(v, scalar.Int), scalar.Range{Min: &least})
}

// Seed returns any 64 bit integer.
func (v Value) Seed() int64 { return read(v, scalar.Whole) }

// Bool returns a truth value.
func (v Value) Bool() bool { return read(v, scalar.Bool) }

// BoolOr is Bool, and def where v says nothing.
func (v Value) BoolOr(def bool) bool {
	if v.IsBlank() {
		return def
	}
	return v.Bool()
}

// Duration reads "1h30m": the units are h, m, s and ms.
func (v Value) Duration() runplan.Duration {
	upToLongest := func(n *yaml.Node) (time.Duration, error) { return scalar.Duration(n, runplan.LongestTime) }
	return runplan.Duration(read(v, upToLongest))
}

// Seconds reads a number of seconds; per is the length of one unit: time.Millisecond for a number of those.
func (v Value) Seconds(per time.Duration) runplan.Duration {
	x := v.Number()
	if x < 0 || x*per.Seconds() > runplan.LongestTime.Seconds() {
		v.Errorf(lengthOfTime, v.Text())
		return 0
	}
	return runplan.Duration(math.Round(x * float64(per)))
}

// Word returns one of the allowed words, the first of them when v says nothing.
func (v Value) Word(allowed ...string) string {
	if v.IsBlank() {
		return allowed[0]
	}
	word, err := scalar.Word(v.Node, allowed)
	if !v.Check(err) {
		return allowed[0]
	}
	return word
}

// NotOneOf is the sentence for a word from outside of a block.
func NotOneOf(s string, allowed []string) string {
	return scalar.NotOneOf(scalar.Node(s), allowed).Error()
}
