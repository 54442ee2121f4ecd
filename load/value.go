package load

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/problem"
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
	if n != nil && n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		n = nil
	}
	return value{findings: v.findings, file: v.file, path: path, node: n}
}

func (v value) set() bool { return v.node != nil }

func (v value) is(kind yaml.Kind) bool { return v.node != nil && v.node.Kind == kind }

// text returns a scalar as it was written, blanks trimmed.
func (v value) text() string {
	if !v.set() {
		return ""
	}
	if !v.is(yaml.ScalarNode) {
		v.errorf("want text, found a %s", kindName(v.node))
		return ""
	}
	return strings.TrimSpace(v.node.Value)
}

// number returns a finite number; quoted numbers count.
func (v value) number() float64 {
	s := v.text()
	if s == "" {
		return 0
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		v.errorf("want a number, found %q", s)
		return 0
	}
	if math.Abs(x) > largest {
		v.errorf("want a number of at most %.0f, found %q", largest, s)
		return 0
	}
	return x
}

// largest is more than any number of a load can mean, and its products with lengths of time are still finite.
const largest = 1e12

// numberAtLeast reports numbers below low.
func (v value) numberAtLeast(low float64) float64 {
	x := v.number()
	if v.set() && x < low {
		v.errorf("want a number of at least %v, found %v", low, x)
	}
	return x
}

func (v value) positive() float64 {
	x := v.number()
	if v.set() && x <= 0 {
		v.errorf("want a number above 0, found %q", v.text())
		return 0
	}
	return x
}

// fraction returns a number from 0 to 1.
func (v value) fraction() float64 {
	x := v.number()
	if x < 0 || x > 1 {
		v.errorf("want a share from 0 to 1, found %v", x)
		return 0
	}
	return x
}

// integer returns a whole number of at least low.
func (v value) integer(low int) int {
	x := v.number()
	switch {
	case !v.set():
		return 0
	case x != math.Trunc(x):
		v.errorf("want a whole number, found %q", v.text())
		return 0
	case math.Abs(x) > math.MaxInt32:
		v.errorf("want a whole number of at most %d, found %q", math.MaxInt32, v.text())
		return 0
	case x < float64(low):
		v.errorf("want a whole number of at least %d, found %q", low, v.text())
		return 0
	}
	return int(x)
}

// seed returns any 64 bit integer.
func (v value) seed() int64 {
	s := v.text()
	if s == "" {
		return 0
	}
	x, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		v.errorf("want a whole number, found %q", s)
	}
	return x
}

// boolean reads the words of YAML 1.1, quoted or not.
func (v value) boolean() bool {
	switch s := strings.ToLower(v.text()); s {
	case "true", "yes", "on", "1":
		return true
	case "false", "no", "off", "0", "":
		return false
	default:
		v.errorf("want true or false, found %q", s)
		return false
	}
}

func (v value) booleanOr(def bool) bool {
	if !v.set() {
		return def
	}
	return v.boolean()
}

var durationText = regexp.MustCompile(`^(\d+(\.\d+)?(h|ms|m|s))+$`)

// duration reads "1h30m": the units are h, m, s and ms.
func (v value) duration() runplan.Duration {
	s := v.text()
	if s == "" {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil || !durationText.MatchString(s) {
		v.errorf("want a duration such as 1h30m (units h, m, s, ms), found %q", s)
		return 0
	}
	if d > runplan.LongestTime {
		v.errorf("want a length of time from 0 to ten years, found %q", s)
		return 0
	}
	return runplan.Duration(d)
}

func (v value) durationOr(def time.Duration) runplan.Duration {
	if !v.set() {
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

// word returns one of the allowed words, the first of them when v is not set.
func (v value) word(allowed ...string) string {
	s := strings.ToLower(v.text())
	if s == "" {
		return allowed[0]
	}
	for _, w := range allowed {
		if s == w {
			return w
		}
	}
	v.errorf("%s", notOneOf(s, allowed))
	return allowed[0]
}

func notOneOf(s string, allowed []string) string {
	text := strconv.Quote(s) + " is not one of " + strings.Join(allowed, ", ")
	if near := problem.Closest(s, allowed, 1); len(near) > 0 {
		text += " (did you mean " + strconv.Quote(near[0]) + "?)"
	}
	return text
}

func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "map"
	case yaml.SequenceNode:
		return "list"
	default:
		return "scalar"
	}
}
