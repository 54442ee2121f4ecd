package load

import (
	"math"
	"time"

	"go.yaml.in/yaml/v3"

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
	return runplan.Duration(read(v, func(n *yaml.Node) (time.Duration, error) { return scalar.Duration(n, runplan.LongestTime) }))
}

func (v value) durationOr(def time.Duration) runplan.Duration {
	if v.blank() {
		return runplan.Duration(def)
	}
	return v.duration()
}

// seconds reads a number of seconds; per is the length of one unit: time.Millisecond for a number of those.
func (v value) seconds(per time.Duration) runplan.Duration {
	x := v.number()
	if x < 0 || x*per.Seconds() > runplan.LongestTime.Seconds() {
		v.errorf("want a length of time from 0 to ten years, found %q", v.text())
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
