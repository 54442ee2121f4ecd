package load

import (
	"math"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/internal/scalar"
	"bflow.dev/bflow/runplan"
)

// value is a node and the place it stands at. Its readers report what does not fit and return zero then, so
// that one pass finds every mistake. A value that is not set reads as zero without a report.
type value struct {
	*findings
	file, path string
	node       *yaml.Node // never an alias; nil = not set
	why        string     // see findings.needsTool
}

func (v value) at(n *yaml.Node, path string) value {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if scalar.Null(n) {
		n = nil
	}
	return value{findings: v.findings, file: v.file, path: path, node: n}
}

// below returns what stands at a dotted path below v, such as stages[0].rate; where nothing does, the nearest value
// above it stands for it, under the whole path.
func (v value) below(path string) value {
	at := v.node
	for rest := path; rest != "" && at != nil; {
		var key string
		key, rest = cutKey(rest)
		next := child(at, key)
		if scalar.Null(next) {
			break
		}
		at = next
	}
	return v.at(at, problem.Join(v.path, path))
}

// cutKey parts the first key or index off a dotted path. It undoes join.
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

// child returns the value of a key, or the entry at an index such as [3]; nil where there is none.
func child(n *yaml.Node, key string) *yaml.Node {
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

func (v value) set() bool { return v.node != nil }

func (v value) is(kind yaml.Kind) bool { return v.node != nil && v.node.Kind == kind }

// blank reports whether v says nothing.
func (v value) blank() bool { return scalar.Blank(v.node) }

// check reports err at v, and whether there is none.
func (v value) check(err error) bool {
	if err != nil {
		v.errorf("%s", err)
	}
	return err == nil
}

// read returns what of reads of v, zero where v says nothing or does not fit.
func read[T any](v value, of func(*yaml.Node) (T, error)) T {
	var none T
	if v.blank() {
		return none
	}
	x, err := of(v.node)
	if !v.check(err) {
		return none
	}
	return x
}

// within returns x, zero where it is out of range.
func within[T int | float64](v value, x T, r scalar.Range) T {
	if v.blank() || v.check(r.Check(v.node, float64(x))) {
		return x
	}
	return 0
}

// text returns a scalar as it was written, blanks trimmed.
func (v value) text() string { return read(v, scalar.Text) }

// number returns a finite number; quoted numbers count.
func (v value) number() float64 { return read(v, scalar.Number) }

// numberAtLeast reports numbers below low.
func (v value) numberAtLeast(low float64) float64 {
	return within(v, v.number(), scalar.Range{Min: &low})
}

func (v value) positive() float64 { return within(v, v.number(), scalar.Range{Above: new(float64)}) }

// fraction returns a number from 0 to 1.
func (v value) fraction() float64 {
	most := 1.0
	return within(v, v.number(), scalar.Range{Min: new(float64), Max: &most})
}

// integer returns a whole number of at least low.
func (v value) integer(low int) int {
	least := float64(low)
	return within(v, read(v, scalar.Int), scalar.Range{Min: &least})
}

// seed returns any 64 bit integer.
func (v value) seed() int64 { return read(v, scalar.Whole) }

func (v value) boolean() bool { return read(v, scalar.Bool) }

func (v value) booleanOr(def bool) bool {
	if v.blank() {
		return def
	}
	return v.boolean()
}

// duration reads "1h30m": the units are h, m, s and ms.
func (v value) duration() runplan.Duration {
	upToLongest := func(n *yaml.Node) (time.Duration, error) { return scalar.Duration(n, runplan.LongestTime) }
	return runplan.Duration(read(v, upToLongest))
}

// seconds reads a number of seconds; per is the length of one unit: time.Millisecond for a number of those.
func (v value) seconds(per time.Duration) runplan.Duration {
	x := v.number()
	if x < 0 || x*per.Seconds() > runplan.LongestTime.Seconds() {
		v.errorf(lengthOfTime, v.text())
		return 0
	}
	return runplan.Duration(math.Round(x * float64(per)))
}

// word returns one of the allowed words, the first of them when v says nothing.
func (v value) word(allowed ...string) string {
	if v.blank() {
		return allowed[0]
	}
	word, err := scalar.Word(v.node, allowed)
	if !v.check(err) {
		return allowed[0]
	}
	return word
}

// notOneOf is the sentence for a word from outside of a block.
func notOneOf(s string, allowed []string) string {
	return scalar.NotOneOf(scalar.Node(s), allowed).Error()
}
