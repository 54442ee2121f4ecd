package scalar

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Bool reads the words of YAML 1.1 for truth, and 1 and 0, in any case.
func Bool(n *yaml.Node) (bool, error) {
	word, _ := text(n)
	switch strings.ToLower(word) {
	case "true", "yes", "on", "1":
		return true, nil
	case "false", "no", "off", "0":
		return false, nil
	}
	return false, Want("true or false", n)
}

// Whole reads an integer in YAML's spellings: 0x10, 0o20, 1_000; 020 is octal as in YAML 1.1. A float without a
// fraction is one too.
func Whole(n *yaml.Node) (int64, error) {
	if i, ok := whole(n); ok {
		return i, nil
	}
	return 0, Want("an integer", n)
}

func whole(n *yaml.Node) (int64, bool) {
	s, ok := text(n)
	if !ok {
		return 0, false
	}
	isDecimal := s == "0" || !strings.HasPrefix(strings.TrimLeft(s, "+-"), "0")
	if i, err := strconv.ParseInt(s, 10, 64); err == nil && isDecimal {
		return i, true
	}
	if PlainTag(s) == "!!float" {
		x, err := strconv.ParseFloat(s, 64)
		return int64(x), err == nil && x == math.Trunc(x) && math.Abs(x) < 1<<53
	}
	i, err := strconv.ParseInt(s, 0, 64)
	return i, err == nil
}

// Int reads an integer that counts something: one of 32 bits.
func Int(n *yaml.Node) (int, error) {
	i, err := Whole(n)
	if err == nil && (i > math.MaxInt32 || i < math.MinInt32) {
		return 0, Want("at most "+strconv.Itoa(math.MaxInt32), n)
	}
	return int(i), err
}

// Largest is more than any number with a fraction can mean, and its products with lengths of time are still finite.
const Largest = 1e12

// Number reads a finite number.
func Number(n *yaml.Node) (float64, error) {
	x, err := math.NaN(), error(nil)
	if s, ok := text(n); ok {
		x, err = strconv.ParseFloat(s, 64)
	}
	if i, ok := whole(n); ok && err != nil {
		x, err = float64(i), nil
	}
	switch {
	case err != nil || math.IsNaN(x) || math.IsInf(x, 0):
		return 0, Want("a number", n)
	case math.Abs(x) > Largest:
		return 0, Want("at most "+Plain(Largest), n)
	}
	return x, nil
}

// Range bounds a number; nil does not bind.
type Range struct{ Min, Max, Above *float64 }

// Check says what is wrong with x, which is the value of n.
func (r Range) Check(n *yaml.Node, x float64) error {
	switch {
	case r.Min != nil && x < *r.Min && r.Max != nil, r.Max != nil && x > *r.Max && r.Min != nil:
		return Want(Plain(*r.Min)+" to "+Plain(*r.Max), n)
	case r.Min != nil && x < *r.Min:
		return Want("at least "+Plain(*r.Min), n)
	case r.Above != nil && x <= *r.Above:
		return Want("a number above "+Plain(*r.Above), n)
	case r.Max != nil && x > *r.Max:
		return Want("at most "+Plain(*r.Max), n)
	}
	return nil
}

// IsDuration reports whether n is the text of a duration with its unit.
func IsDuration(n *yaml.Node) bool {
	s, _ := text(n)
	_, ok := parseDuration(s)
	return ok
}

// like is what a duration looks like.
const like = "a duration such as 90s or 1h30m"

// Duration reads 8h, 1h30m, 0.5s, 40ms: a length of time of at most most. A bare number has no unit.
func Duration(n *yaml.Node, most time.Duration) (time.Duration, error) {
	s, ok := text(n)
	if !ok {
		return 0, Want(like, n)
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return 0, fmt.Errorf(`want a duration with a unit (h, m, s, ms), found %s; did you mean "%ss"?`, Found(n), s)
	}
	return span(n, s, most)
}

// Seconds is Duration, where a bare number is seconds.
func Seconds(n *yaml.Node, most time.Duration) (time.Duration, error) {
	s, _ := text(n)
	if x, err := strconv.ParseFloat(s, 64); err == nil {
		return span(n, Plain(x)+"s", most)
	}
	return Duration(n, most)
}

// span is the length of time that s, the text of n, says.
func span(n *yaml.Node, s string, most time.Duration) (time.Duration, error) {
	t, ok := parseDuration(s)
	switch {
	case !ok:
		return 0, Want(like+" (units h, m, s, ms)", n)
	case t > most:
		return 0, Want("at most "+strconv.Itoa(int(most.Hours()))+"h", n)
	}
	return t, nil
}

// AboveZero is the error of a duration of nothing where some time is needed.
func AboveZero(n *yaml.Node) error { return Want("a duration above 0", n) }

// parseDuration is stricter than time.ParseDuration: no sign, no unit below ms, digits before the point, a unit after
// 0.
func parseDuration(s string) (time.Duration, bool) {
	if s == "" || s == "0" || strings.Trim(s, "0123456789.hms") != "" || s[0] < '0' || s[0] > '9' {
		return 0, false
	}
	t, err := time.ParseDuration(s)
	return t, err == nil
}

// Multiple reads N, or N*concurrency, which is N times the load value of a stage.
func Multiple(n *yaml.Node) (times int, perLoad bool, err error) {
	s, ok := text(n)
	factor, word, perLoad := strings.Cut(s, "*")
	number := yaml.Node{Kind: yaml.ScalarNode, Value: factor}
	i, isWhole := whole(&number)
	isCount := ok && isWhole && i >= 1
	switch {
	case !isCount || perLoad && !strings.EqualFold(strings.TrimSpace(word), "concurrency"):
		return 0, false, Want("an integer above 0 or N*concurrency", n)
	case i > math.MaxInt32:
		return 0, false, Want("at most "+strconv.Itoa(math.MaxInt32), n)
	}
	return int(i), perLoad, nil
}

// Word reads one of words, in any case, and returns it as it stands there.
func Word(n *yaml.Node, words []string) (string, error) {
	s, ok := text(n)
	for _, w := range words {
		if ok && strings.EqualFold(s, w) {
			return w, nil
		}
	}
	return "", NotOneOf(n, words)
}

// Free returns a scalar of a free mapping as JSON knows it: truth, number or text. What JSON has no word for stays
// text.
func Free(n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!bool":
		if b, err := strconv.ParseBool(n.Value); err == nil {
			return b
		}
	case "!!int":
		if x, err := strconv.ParseInt(n.Value, 0, 64); err == nil {
			return x
		}
	case "!!float":
		if x, err := strconv.ParseFloat(n.Value, 64); err == nil && !math.IsInf(x, 0) && !math.IsNaN(x) {
			return x
		}
	}
	return n.Value
}
