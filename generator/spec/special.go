package spec

import (
	"reflect"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"bflow.dev/bflow/internal/scalar"
	"bflow.dev/bflow/load"
	"bflow.dev/bflow/platform"
	"bflow.dev/bflow/runplan"
)

func (d *decoder) object(n *yaml.Node, v reflect.Value, _ *field) {
	if n.Kind != yaml.MappingNode {
		d.wrong(n, scalar.WantMapping(n))
		return
	}
	v.Set(reflect.ValueOf(load.Object{Node: n}))
}

func (d *decoder) count(n *yaml.Node, v reflect.Value, _ *field) {
	times, perLoad, err := scalar.Multiple(n)
	if err != nil {
		d.wrong(n, err)
		return
	}
	v.Set(reflect.ValueOf(load.Count{N: times, PerLoad: perLoad}))
}

// skip reads 0.1, 20, 10s, or {percent, value, mode}.
func (d *decoder) skip(n *yaml.Node, v reflect.Value, f *field) {
	var s load.Skip
	switch n.Kind {
	case yaml.MappingNode:
		d.codec.structure(d.codec.table(reflect.TypeFor[load.SkipForm]()))(d, n, reflect.ValueOf(&s.SkipForm).Elem(), f)
		isNull := child(n, Seg{Key: "percent"}) != nil || child(n, Seg{Key: "value"}) != nil
		switch {
		case s.Percent != nil || s.Value != nil:
		case isNull:
			s = load.Skip{} // as a report of GuideLLM says of a stage without one
		case s.Mode == "":
			d.report(n, "want percent or value, found neither")
		}
	case yaml.ScalarNode:
		s = d.skipScalar(n)
	default:
		d.wrong(n, scalar.Want("a number, a duration or {percent, value, mode}", n))
	}
	v.Set(reflect.ValueOf(s))
}

func (d *decoder) skipScalar(n *yaml.Node) load.Skip {
	if scalar.IsDuration(n) {
		t, err := scalar.Duration(n, runplan.LongestTime)
		if err != nil {
			d.wrong(n, err)
		}
		return load.Skip{Duration: t}
	}
	x, err := scalar.Number(n)
	if err != nil || x < 0 {
		d.wrong(n, scalar.Want("a share below 1, a number of seconds, a duration or {percent, value, mode}", n))
	}
	return load.Skip{Number: x}
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
				d.wrong(n, scalar.Want("false or the fields of a Kubernetes probe", n))
			}
			v.Set(reflect.ValueOf(platform.Probe{Off: true}))
			return
		}
		var probe corev1.Probe
		read(d, n, reflect.ValueOf(&probe).Elem(), f)
		v.Set(reflect.ValueOf(platform.Probe{Patch: load.Object{Node: n}}))
	}
}

// axes reads matrix.axes in the order of the file. Paths and values are checked when the whole document is read.
func (d *decoder) axes(n *yaml.Node, v reflect.Value, _ *field) {
	if n.Kind != yaml.MappingNode {
		d.wrong(n, scalar.Want("a mapping of path to list", n))
		return
	}
	var out []AxisDecl
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, list := n.Content[i], n.Content[i+1]
		d.in(Seg{Key: key.Value}, func() {
			if list.Kind != yaml.SequenceNode || len(list.Content) == 0 {
				d.wrong(list, scalar.Want("a list of at least one value", list))
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
		d.wrong(n, scalar.Want("a mapping of path to value", n))
		return
	}
	var out PartialPoint
	for i := 0; i+1 < len(n.Content); i += 2 {
		out = append(out, Coordinate{Path: n.Content[i].Value, Key: n.Content[i], Value: n.Content[i+1]})
	}
	v.Set(reflect.ValueOf(out))
}

func (d *decoder) intOrString(n *yaml.Node, v reflect.Value, _ *field) {
	text, err := scalar.Text(n)
	if err != nil {
		d.wrong(n, scalar.Want("a number or a name", n))
		return
	}
	x := intstr.FromString(text)
	if i, err := scalar.Whole(n); err == nil && !scalar.Quoted(n) {
		x = intstr.FromInt32(int32(i))
	}
	v.Set(reflect.ValueOf(x))
}

func (d *decoder) quantity(n *yaml.Node, v reflect.Value, _ *field) {
	q, err := readQuantity(n)
	if err != nil {
		d.wrong(n, err)
		return
	}
	v.Set(reflect.ValueOf(q))
}

// readQuantity reads an amount as Kubernetes writes it: 500m, 2, 16Gi.
func readQuantity(n *yaml.Node) (resource.Quantity, error) {
	text, err := scalar.Text(n)
	if err != nil {
		return resource.Quantity{}, scalar.Want("a quantity", n)
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return q, scalar.Want("a quantity such as 2 or 16Gi", n)
	}
	return q, nil
}
