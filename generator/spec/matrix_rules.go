package spec

import (
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/internal/scalar"
)

// matrixCheck checks the paths and values of spec.matrix against the types they change.
type matrixCheck struct {
	exp    *Experiment
	dec    *decoder
	lists  map[string]*yaml.Node // axis path -> its list
	zipped map[string]*yaml.Node
}

// checkMatrix finds paths that do not exist, values that do not fit, axes given twice, and lists that cannot advance
// together. Paths are rewritten in first spellings, so that package plan can set them.
func (e *Experiment) checkMatrix() problem.List {
	m := &matrixCheck{exp: e, dec: &decoder{codec: e.codec, doc: &e.Doc, root: reflect.TypeFor[Experiment]()},
		lists: map[string]*yaml.Node{}, zipped: map[string]*yaml.Node{}}
	m.axes()
	m.zip()
	for i := range e.Spec.Matrix.Exclude {
		m.points("exclude", i, e.Spec.Matrix.Exclude[i])
	}
	for i := range e.Spec.Matrix.Include {
		m.points("include", i, e.Spec.Matrix.Include[i])
	}
	return m.dec.found
}

// axes checks matrix.axes.
func (m *matrixCheck) axes() {
	base := Path{{Key: "spec"}, {Key: "matrix"}, {Key: "axes"}}
	for i := range m.exp.Spec.Matrix.Axes {
		axis := &m.exp.Spec.Matrix.Axes[i]
		m.dec.path = append(slices.Clone(base), Seg{Key: axis.Key.Value})
		p, f, typ := m.path(axis.Key)
		if f == nil {
			continue
		}
		axis.Path = p.String()
		if axis.Path == "target_clusters" {
			m.dec.report(axis.Key, "target_clusters is an axis of its own; write the list there")
			continue
		}
		if list := Get(m.exp.Root, append(Path{{Key: "spec"}}, p...)); list != nil && list.Kind == yaml.SequenceNode &&
			isAxis(typ) {
			m.dec.report(axis.Key, "%s is already an axis, at %s:%d:%d; keep one list", axis.Path, m.exp.File, list.Line,
				list.Column)
		}
		if _, twice := m.lists[axis.Path]; twice {
			m.dec.report(axis.Key, "duplicate axis %s", axis.Path)
		}
		m.lists[axis.Path] = &yaml.Node{Kind: yaml.SequenceNode, Content: axis.Values}
		for i, v := range axis.Values {
			m.dec.in(Seg{Index: i}, func() { m.value(v, f, typ) })
		}
	}
}

// value decodes v as it will be at its path.
func (m *matrixCheck) value(v *yaml.Node, f *field, typ reflect.Type) {
	if isAxis(typ) && v.Kind == yaml.SequenceNode {
		m.dec.report(v, "want one value, found a list")
		return
	}
	if !scalar.Null(v) && typ != nil {
		m.exp.codec.readers[typ](m.dec, v, reflect.New(typ).Elem(), f)
	}
}

// path parses and resolves the path in a key; f is nil when that failed, typ when anything may stand there.
func (m *matrixCheck) path(key *yaml.Node) (p Path, f *field, typ reflect.Type) {
	p, err := ParsePath(key.Value)
	if err != nil {
		m.dec.report(key, "%v", err)
		return nil, nil, nil
	}
	root, rest := reflect.TypeFor[ExperimentSpec](), p
	if profile := profilePrefix(p[0].Key); profile != nil && len(p) > 1 {
		root, rest = profile, p[1:]
	}
	f, typ, text := m.exp.codec.resolve(root, rest)
	switch {
	case text != "":
		m.dec.report(key, "%s", text)
	case p.String() == "target_clusters":
		return p, f, reflect.TypeFor[ClusterAt]()
	case root == reflect.TypeFor[ExperimentSpec]() && (p[0].Key == "matrix" || p[0].Key == "target_clusters" ||
		p[0].Key == "model_overrides"):
		m.dec.report(key, "%s cannot vary inside a matrix", p[0].Key)
		return nil, nil, nil
	case m.entryOfAxis(root, rest):
		m.dec.report(key, "%s is one value of an axis; name the axis itself, %s", p, p[:len(p)-1])
		return nil, nil, nil
	}
	return p, f, typ
}

// entryOfAxis reports whether p is an index into the list of a field that is an axis. Each point has one value there.
func (m *matrixCheck) entryOfAxis(root reflect.Type, p Path) bool {
	last := len(p) - 1
	if last < 1 || p[last].Key != "" {
		return false
	}
	_, typ, _ := m.exp.codec.resolve(root, p[:last])
	return isAxis(typ)
}

// profilePrefix is the type below deployment., benchmark. and metrics. in matrix paths.
func profilePrefix(key string) reflect.Type {
	switch key {
	case "deployment":
		return reflect.TypeFor[DeploymentSpec]()
	case "benchmark":
		return reflect.TypeFor[BenchmarkSpec]()
	case "metrics":
		return reflect.TypeFor[MetricsSpec]()
	}
	return nil
}

func isAxis(t reflect.Type) bool {
	return t != nil && t.Implements(reflect.TypeFor[axisType]())
}

// zip checks matrix.zip: every path is an axis, once, and the lists of a group are of one length.
func (m *matrixCheck) zip() {
	for g, group := range m.exp.Spec.Matrix.Zip {
		at := Path{{Key: "spec"}, {Key: "matrix"}, {Key: "zip"}, {Index: g}}
		m.dec.path = at
		node := Get(m.exp.Root, at)
		if len(group) < 2 {
			m.dec.report(node, "want at least two paths to advance together, found %d", len(group))
		}
		length := 0
		for i := range group {
			m.dec.in(Seg{Index: i}, func() { length = m.zipPath(child(node, Seg{Index: i}), &group[i], length) })
		}
	}
}

// zipPath checks one path of a group whose lists are of the given length, 0 when it is the first.
func (m *matrixCheck) zipPath(n *yaml.Node, path *string, length int) int {
	p, f, typ := m.path(n)
	if f == nil {
		return length
	}
	*path = p.String()
	list := m.lists[*path]
	if at := Get(m.exp.Root, append(Path{{Key: "spec"}}, p...)); list == nil && at != nil &&
		at.Kind == yaml.SequenceNode && (isAxis(typ) || *path == "target_clusters") {
		list = at
	}
	switch {
	case list == nil:
		m.dec.report(n, "%s is not an axis; give it a list, here or in matrix.axes", *path)
		return length
	case m.zipped[*path] != nil:
		m.dec.report(n, "%s is zipped twice", *path)
	case length > 0 && length != len(list.Content):
		m.dec.report(n, "zipped lists must have the same length: %s has %d values, the first %d", *path, len(list.Content),
			length)
	}
	m.zipped[*path] = n
	if length == 0 {
		return len(list.Content)
	}
	return length
}

// points checks the paths and values of one partial point.
func (m *matrixCheck) points(list string, index int, point PartialPoint) {
	for i := range point {
		c := &point[i]
		m.dec.path = Path{{Key: "spec"}, {Key: "matrix"}, {Key: list}, {Index: index}, {Key: c.Key.Value}}
		if p, f, typ := m.path(c.Key); f != nil {
			c.Path = p.String()
			m.value(c.Value, f, typ)
		}
	}
}
