package spec

import (
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func (d *decoder) object(n *yaml.Node, v reflect.Value, _ *field) {
	if n.Kind != yaml.MappingNode {
		d.report(n, "want a mapping, found %s", found(n))
		return
	}
	v.Set(reflect.ValueOf(Object{Node: n}))
}

// count reads 20 or 20*concurrency.
func (d *decoder) count(n *yaml.Node, v reflect.Value, _ *field) {
	const want = "want an integer above 0 or N*concurrency, found %s"
	number := *n
	factor, word, times := strings.Cut(strings.TrimSpace(n.Value), "*")
	if times {
		number.Value, number.Style = factor, 0
	}
	i, ok := wholeNumber(&number)
	if !ok || i < 1 || i > 1<<31 || times && !strings.EqualFold(word, "concurrency") {
		d.report(n, want, found(n))
		return
	}
	v.Set(reflect.ValueOf(Count{N: int(i), PerLoad: times}))
}

// skipForm is the long form of Skip.
type skipForm struct {
	Percent float64 `json:"percent,omitempty" min:"0" max:"1" doc:"share, 0 to 1"`
	Value   float64 `json:"value,omitempty" min:"0" doc:"seconds or requests"`
	Mode    string  `json:"mode,omitempty" enum:"duration|requests|prefer_duration|prefer_requests|both" implied:"prefer_duration" doc:"what it counts"`
}

// skip reads 0.1, 20, 10s, or {percent, value, mode}.
func (d *decoder) skip(n *yaml.Node, v reflect.Value, f *field) {
	var s Skip
	switch n.Kind {
	case yaml.MappingNode:
		var form skipForm
		d.codec.structure(d.codec.table(reflect.TypeFor[skipForm]()))(d, n, reflect.ValueOf(&form).Elem(), f)
		s = Skip{Percent: form.Percent, Value: form.Value, Mode: form.Mode}
	case yaml.ScalarNode:
		text := strings.TrimSpace(n.Value)
		x, err := strconv.ParseFloat(text, 64)
		t, isTime := parseDuration(text)
		s = Skip{Number: x, Seconds: t.Seconds()}
		if !(err == nil && x >= 0 && x < 1<<53) && !isTime {
			d.report(n, "want a share below 1, a number of seconds, a duration or {percent, value, mode}, found %s", found(n))
		}
	default:
		d.report(n, "want a number, a duration or {percent, value, mode}, found %s", found(n))
	}
	v.Set(reflect.ValueOf(s))
}

// probe reads false, or fields of a Kubernetes Probe.
func (c *codec) probe() reader {
	read := c.reader(reflect.TypeFor[corev1.Probe]())
	return func(d *decoder, n *yaml.Node, v reflect.Value, f *field) {
		if n.Kind == yaml.ScalarNode {
			on := true
			from := len(d.found)
			d.boolean(n, reflect.ValueOf(&on).Elem(), f)
			if on || len(d.found) > from {
				d.found = d.found[:from]
				d.report(n, "want false or the fields of a Kubernetes probe, found %s", found(n))
			}
			v.Set(reflect.ValueOf(Probe{Off: true}))
			return
		}
		var probe corev1.Probe
		read(d, n, reflect.ValueOf(&probe).Elem(), f)
		v.Set(reflect.ValueOf(Probe{Patch: Object{Node: n}}))
	}
}

// axes reads matrix.axes in the order of the file. Paths and values are checked when the whole document is read.
func (d *decoder) axes(n *yaml.Node, v reflect.Value, _ *field) {
	if n.Kind != yaml.MappingNode {
		d.report(n, "want a mapping of path to list, found %s", found(n))
		return
	}
	var out []AxisDecl
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, list := n.Content[i], n.Content[i+1]
		d.in(Seg{Key: key.Value}, func() {
			if list.Kind != yaml.SequenceNode || len(list.Content) == 0 {
				d.report(list, "want a list of at least one value, found %s", found(list))
				return
			}
			d.duplicates(list)
			out = append(out, AxisDecl{Path: key.Value, Key: key, Values: list.Content})
		})
	}
	v.Set(reflect.ValueOf(out))
}

func (d *decoder) partialPoint(n *yaml.Node, v reflect.Value, _ *field) {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		d.report(n, "want a mapping of path to value, found %s", found(n))
		return
	}
	var out PartialPoint
	for i := 0; i+1 < len(n.Content); i += 2 {
		out = append(out, Coordinate{Path: n.Content[i].Value, Key: n.Content[i], Value: n.Content[i+1]})
	}
	v.Set(reflect.ValueOf(out))
}

func (d *decoder) intOrString(n *yaml.Node, v reflect.Value, _ *field) {
	if !d.scalar(n, "a number or a name") {
		return
	}
	x := intstr.FromString(strings.TrimSpace(n.Value))
	if i, ok := wholeNumber(n); ok && !quoted(n) {
		x = intstr.FromInt32(int32(i))
	}
	v.Set(reflect.ValueOf(x))
}

func (d *decoder) quantity(n *yaml.Node, v reflect.Value, _ *field) {
	if !d.scalar(n, "a quantity") {
		return
	}
	q, err := resource.ParseQuantity(strings.TrimSpace(n.Value))
	if err != nil {
		d.report(n, "want a quantity such as 2 or 16Gi, found %s", found(n))
		return
	}
	v.Set(reflect.ValueOf(q))
}
