package spec

import (
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/credential"
	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/internal/scalar"
	"bflow.dev/bflow/load"
	"bflow.dev/bflow/runplan"
)

// text keeps the source: 1.10 stays "1.10" and true "true". Blanks round it are no part of it, except in a block (| or
// >), which is a text with a shape of its own.
func (d *decoder) text(n *yaml.Node, v reflect.Value, f *field) {
	if f.secret && n.Kind == yaml.MappingNode {
		d.reference(n, v, f)
		return
	}
	text, err := scalar.Text(n)
	if err != nil {
		d.wrong(n, err)
		return
	}
	inList := len(d.path) > 0 && d.path[len(d.path)-1].Key == ""
	if isBlock := n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0; isBlock && !inList {
		text = n.Value
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
		d.word(n, v, f)
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
	SecretKeyRef load.SecretKey `json:"secretKeyRef" req:"true" doc:"Secret in the namespace of the run, and key in it"`
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

// word reads one of the words of f. Those of Kubernetes are its own: it knows no other case.
func (d *decoder) word(n *yaml.Node, v reflect.Value, f *field) {
	if slices.Contains(f.enum, v.String()) { // also by a further spelling
		return
	}
	word, err := scalar.Word(n, f.enum)
	if err == nil && f.exact {
		err = scalar.NotOneOf(n, f.enum)
	}
	switch todo := f.instead[v.String()]; {
	case todo != "":
		d.report(n, "%s; %s", err, todo)
	case err != nil:
		d.wrong(n, err)
	default:
		v.SetString(word)
	}
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
		d.wrong(n, scalar.Want(r.want, n))
	}
}

// wrong adds what scalar says of n, here.
func (d *decoder) wrong(n *yaml.Node, err error) { d.report(n, "%s", err) }

func (d *decoder) boolean(n *yaml.Node, v reflect.Value, _ *field) {
	on, err := scalar.Bool(n)
	if err != nil {
		d.wrong(n, err)
	}
	v.SetBool(on)
}

func (d *decoder) integer(n *yaml.Node, v reflect.Value, f *field) {
	i, err := scalar.Whole(n)
	if v.Kind() == reflect.Int { // seeds and sizes are int64
		var counted int
		counted, err = scalar.Int(n)
		i = int64(counted)
	}
	if err == nil && v.OverflowInt(i) {
		err = scalar.Want("an integer", n)
	}
	if err != nil {
		d.wrong(n, err)
		return
	}
	v.SetInt(i)
	d.limits(n, float64(i), f)
}

func (d *decoder) float(n *yaml.Node, v reflect.Value, f *field) {
	x, err := scalar.Number(n)
	if err != nil {
		d.wrong(n, err)
		return
	}
	v.SetFloat(x)
	d.limits(n, x, f)
}

func (d *decoder) limits(n *yaml.Node, x float64, f *field) {
	if err := f.Check(n, x); err != nil {
		d.wrong(n, err)
	}
}

// duration reads a length of time; in metrics fields also bare seconds.
func (d *decoder) duration(n *yaml.Node, v reflect.Value, f *field) {
	read := scalar.Duration
	if f.bare == "s" {
		read = scalar.Seconds
	}
	t, err := read(n, runplan.LongestTime)
	if err == nil && t == 0 && !f.zero {
		err = scalar.AboveZero(n)
	}
	if err != nil {
		d.wrong(n, err)
		return
	}
	v.SetInt(int64(t))
}
