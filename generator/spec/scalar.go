package spec

import (
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/credential"
	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/runplan"
)

// scalar reports whether n is one, with a problem when it is not.
func (d *decoder) scalar(n *yaml.Node, want string) bool {
	if n.Kind != yaml.ScalarNode {
		d.report(n, "want %s, found %s", want, found(n))
		return false
	}
	return true
}

// text keeps the source: 1.10 stays "1.10" and true "true". Blanks round it are no part of it, except in a block (| or >),
// which is a text with a shape of its own.
func (d *decoder) text(n *yaml.Node, v reflect.Value, f *field) {
	if f.secret && n.Kind == yaml.MappingNode {
		d.reference(n, v, f)
		return
	}
	if !d.scalar(n, "text") {
		return
	}
	text := n.Value
	if item := len(d.path) > 0 && d.path[len(d.path)-1].Key == ""; item || n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		text = strings.TrimSpace(text)
	}
	if word, ok := f.words[text]; ok {
		text = word
	}
	v.SetString(text)
	hole := problem.Unfilled(text, d.filledLater())
	switch {
	case hole != "":
		d.report(n, "%s", hole)
	case text == "" && f.req:
		d.report(n, "required field is empty")
	case text == "":
	case len(f.enum) > 0:
		d.word(n, text, f.enum)
	default:
		d.rule(n, text, f.is)
	}
}

// filledLater reports whether a shell, the server or Prometheus reads what stands here, and may fill in variables.
func (d *decoder) filledLater() bool {
	return slices.ContainsFunc(d.path, func(seg Seg) bool {
		switch seg.Key {
		case "env", "vllm_args", "vllm_extra_args", "command", "args", "queries", "query", "epp_config":
			return true
		}
		return false
	})
}

// valueFrom is how a text refers to a value of a Secret, as a variable of a pod would.
type valueFrom struct {
	ValueFrom secretSource `json:"valueFrom" req:"true" doc:"where the value is from"`
}

// secretSource is the only source there is.
type secretSource struct {
	SecretKeyRef SecretKey `json:"secretKeyRef" req:"true" doc:"Secret in the namespace of the run, and key in it"`
}

// reference reads {valueFrom: {secretKeyRef: {name, key}}}: the text is then what stands for the value in a plan.
func (d *decoder) reference(n *yaml.Node, v reflect.Value, f *field) {
	var form valueFrom
	from := len(d.found)
	d.codec.readers[reflect.TypeFor[valueFrom]()](d, n, reflect.ValueOf(&form).Elem(), f)
	if len(d.found) > from {
		return
	}
	k := runplan.SecretKey(form.ValueFrom.SecretKeyRef)
	if !k.Valid() {
		d.report(n, "want the name of a Secret and a key in it, found %q and %q", k.Name, k.Key)
		return
	}
	v.SetString(k.Reference())
}

// word reports a value that is none of words.
func (d *decoder) word(n *yaml.Node, text string, words []string) {
	if slices.Contains(words, text) {
		return
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	hint := ""
	if near := problem.Closest(text, words, 1); len(near) > 0 {
		hint = " (did you mean " + strconv.Quote(near[0]) + "?)"
	}
	want := "want one of "
	if len(words) == 1 {
		want = "want "
	}
	d.report(n, "%s%s, found %s%s", want, strings.Join(quoted, ", "), found(n), hint)
}

// rule reports text that breaks the named rule.
func (d *decoder) rule(n *yaml.Node, text, name string) {
	if name == "" {
		return
	}
	r := d.codec.rules[name]
	switch {
	case r.holds(text):
	case name == "url": // it may hold a credential
		d.report(n, "want %s, found %q", r.want, credential.URL(text))
	default:
		d.report(n, "want %s, found %s", r.want, found(n))
	}
}

// boolean reads the words of YAML 1.1, and those that people quote.
func (d *decoder) boolean(n *yaml.Node, v reflect.Value, _ *field) {
	if word := strings.TrimSpace(n.Value); n.Kind == yaml.ScalarNode && word != "" {
		if word == strings.ToUpper(word) || word == strings.ToUpper(word[:1])+strings.ToLower(word[1:]) {
			word = strings.ToLower(word)
		}
		switch {
		case word == "true" || word == "yes" || word == "on" && !quoted(n) || word == "1" && quoted(n):
			v.SetBool(true)
			return
		case word == "false" || word == "no" || word == "off" && !quoted(n) || word == "0" && quoted(n):
			v.SetBool(false)
			return
		}
	}
	d.report(n, "want true or false, found %s", found(n))
}

func (d *decoder) integer(n *yaml.Node, v reflect.Value, f *field) {
	i, ok := wholeNumber(n)
	if !ok || v.OverflowInt(i) {
		d.report(n, "want an integer, found %s", found(n))
		return
	}
	if v.Kind() == reflect.Int && (i > math.MaxInt32 || i < math.MinInt32) { // seeds and sizes are int64
		d.report(n, "want at most %d, found %s", math.MaxInt32, found(n))
		return
	}
	v.SetInt(i)
	d.limits(n, float64(i), f)
}

// wholeNumber reads an integer in YAML's spellings, or in quotes, or a float without a fraction.
func wholeNumber(n *yaml.Node) (int64, bool) {
	if n.Kind != yaml.ScalarNode {
		return 0, false
	}
	text := strings.TrimSpace(n.Value)
	if i, err := strconv.ParseInt(text, 10, 64); err == nil && !strings.HasPrefix(strings.TrimLeft(text, "+-"), "0") || text == "0" {
		return i, true
	}
	if !quoted(n) && plainTag(text) == "!!float" {
		x, err := strconv.ParseFloat(text, 64)
		return int64(x), err == nil && x == math.Trunc(x) && math.Abs(x) < 1<<53
	}
	i, err := strconv.ParseInt(text, 0, 64) // 0x10, 0o20, 1_000; 020 is octal as in YAML 1.1
	return i, err == nil
}

func (d *decoder) float(n *yaml.Node, v reflect.Value, f *field) {
	x, err := math.NaN(), error(nil)
	if n.Kind == yaml.ScalarNode {
		x, err = strconv.ParseFloat(strings.TrimSpace(n.Value), 64)
	}
	if i, ok := wholeNumber(n); ok && err != nil {
		x, err = float64(i), nil
	}
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		d.report(n, "want a number, found %s", found(n))
		return
	}
	if math.Abs(x) > largest {
		d.report(n, "want at most %s, found %s", plain(largest), found(n))
		return
	}
	v.SetFloat(x)
	d.limits(n, x, f)
}

// largest is more than any number with a fraction of ours can mean, and its products are still finite.
const largest = 1e12

func (d *decoder) limits(n *yaml.Node, x float64, f *field) {
	switch {
	case f.min != nil && x < *f.min && f.max != nil, f.max != nil && x > *f.max && f.min != nil:
		d.report(n, "want %s to %s, found %s", plain(*f.min), plain(*f.max), found(n))
	case f.min != nil && x < *f.min:
		d.report(n, "want at least %s, found %s", plain(*f.min), found(n))
	case f.above != nil && x <= *f.above:
		d.report(n, "want a number above %s, found %s", plain(*f.above), found(n))
	case f.max != nil && x > *f.max:
		d.report(n, "want at most %s, found %s", plain(*f.max), found(n))
	}
}

func plain(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// duration reads 8h, 1h30m, 0.5s, 40ms; in metrics fields also bare seconds.
func (d *decoder) duration(n *yaml.Node, v reflect.Value, f *field) {
	if !d.scalar(n, "a duration such as 90s or 1h30m") {
		return
	}
	text := strings.TrimSpace(n.Value)
	if x, err := strconv.ParseFloat(text, 64); err == nil && f.bare {
		text = strconv.FormatFloat(x, 'f', -1, 64) + "s"
	} else if err == nil {
		d.report(n, `want a duration with a unit (h, m, s, ms), found %s; did you mean "%ss"?`, found(n), text)
		return
	}
	t, ok := parseDuration(text)
	switch {
	case !ok:
		d.report(n, "want a duration such as 90s or 1h30m (units h, m, s, ms), found %s", found(n))
	case t == 0 && !f.zero:
		d.report(n, "want a duration above 0, found %s", found(n))
	default:
		v.SetInt(int64(t))
	}
}

// parseDuration is stricter than time.ParseDuration: no sign, no unit below ms, digits before the point.
func parseDuration(text string) (time.Duration, bool) {
	if strings.Trim(text, "0123456789.hms") != "" || text == "" || text[0] < '0' || text[0] > '9' {
		return 0, false
	}
	t, err := time.ParseDuration(text)
	return t, err == nil
}
