package spec

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/problem"
)

// references decodes the profiles that experiments name, each once.
type references struct {
	catalogue *Catalogue
	seen      map[profileID]bool
	found     problem.List
}

// experiment looks up every profile that a point of e can have.
func (r *references) experiment(e *Experiment) {
	for _, ref := range []struct {
		kind, field string
		names       Axis[string]
	}{
		{KindDeployment, "deployment_profile", e.Spec.DeploymentProfile},
		{KindBenchmark, "benchmark_profile", e.Spec.BenchmarkProfile},
		{KindMetrics, "metrics_profile", e.Spec.MetricsProfile},
	} {
		list := Get(e.Root, Path{{Key: "spec"}, {Key: ref.field}})
		for i, name := range ref.names {
			at := "spec." + ref.field
			if list != nil && list.Kind == yaml.SequenceNode {
				at += "[" + strconv.Itoa(placeOf(list, name, i)) + "]"
			}
			r.look(ref.kind, name, &e.Doc, at)
		}
		r.matrix(e, ref.kind, ref.field)
	}
}

// placeOf is the index of name in list, which may hold blank entries that were dropped.
func placeOf(list *yaml.Node, name string, guess int) int {
	for i, n := range list.Content {
		if strings.TrimSpace(n.Value) == name {
			return i
		}
	}
	return guess
}

// matrix looks up the profiles that matrix.axes and matrix.include name.
func (r *references) matrix(e *Experiment, kind, field string) {
	for _, axis := range e.Spec.Matrix.Axes {
		for i, v := range axis.Values {
			if axis.Path == field {
				at := Path{{Key: "spec"}, {Key: "matrix"}, {Key: "axes"}, {Key: axis.Key.Value}, {Index: i}}
				r.look(kind, v.Value, &e.Doc, at.String())
			}
		}
	}
	for i, point := range e.Spec.Matrix.Include {
		for _, c := range point {
			if c.Path == field {
				at := Path{{Key: "spec"}, {Key: "matrix"}, {Key: "include"}, {Index: i}, {Key: c.Key.Value}}
				r.look(kind, c.Value.Value, &e.Doc, at.String())
			}
		}
	}
}

func (r *references) look(kind, name string, from *Doc, at string) {
	name = strings.TrimSpace(name)
	id := profileID{kind, name}
	if r.seen[id] && r.catalogue.entries[id] != nil {
		return
	}
	r.seen[id] = true
	var found problem.List
	switch kind {
	case KindDeployment:
		_, found = r.catalogue.Deployment(name, from, at)
	case KindBenchmark:
		_, found = r.catalogue.Benchmark(name, from, at)
	default:
		_, found = r.catalogue.Metrics(name, from, at)
	}
	r.found.Add(found...)
}

// all decodes what nothing referred to.
func (r *references) all() {
	for id, e := range r.catalogue.entries {
		r.look(id.kind, id.name, &e.doc, "metadata.name")
	}
}
