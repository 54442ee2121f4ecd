package plan

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/internal/problem"
)

// Prefixes of axis paths that lead into the resolved profile instead of the experiment.
const (
	inDeployment = "deployment"
	inBenchmark  = "benchmark"
	inMetrics    = "metrics"
)

// source gives every point its experiment and its profiles, decoded once per combination of the axes that touch them.
type source struct {
	*grid
	exp   *spec.Experiment // built-in axes hold all their values, every other axis its first
	cat   *spec.Catalogue
	at    map[string]int // path of an axis -> its index
	paths []spec.Path    // of the axes

	sections    map[string]*variants[*spec.Experiment] // top-level key of spec -> the experiment as decoded for it
	deployments *variants[*spec.DeploymentProfile]
	benchmarks  *variants[*spec.BenchmarkProfile]
	metrics     *variants[*spec.MetricsProfile]
}

func newSource(exp *spec.Experiment, cat *spec.Catalogue, g *grid) (*source, problem.List) {
	s := &source{grid: g, cat: cat, at: map[string]int{}, paths: make([]spec.Path, len(g.axes)),
		sections: map[string]*variants[*spec.Experiment]{}}
	for i, a := range g.axes {
		s.at[a.path] = i
		s.paths[i], _ = spec.ParsePath(a.path) // newGrid has parsed it
	}
	s.deployments = newVariants[*spec.DeploymentProfile](g, s.below(inDeployment, atDeploy))
	s.benchmarks = newVariants[*spec.BenchmarkProfile](g, s.below(inBenchmark, atBenchmark))
	s.metrics = newVariants[*spec.MetricsProfile](g, s.below(inMetrics, atMetrics))
	var problems problem.List
	s.exp, problems = s.base(exp)
	return s, problems
}

// below returns the free axes whose path starts with key, and the built-in ones at more.
func (s *source) below(key string, more ...string) []int {
	var axes []int
	for i, p := range s.paths {
		if p[0].Key == key && findBuiltIn(s.axes[i].path) == nil || slices.Contains(more, s.axes[i].path) {
			axes = append(axes, i)
		}
	}
	return axes
}

// intoSpec reports whether axis i changes the experiment and is not built in.
func (s *source) intoSpec(i int) bool {
	switch s.paths[i][0].Key {
	case inDeployment, inBenchmark, inMetrics:
		return false
	}
	return findBuiltIn(s.axes[i].path) == nil
}

// base decodes the experiment with its axes in place and without its matrix, which is exp's.
func (s *source) base(exp *spec.Experiment) (*spec.Experiment, problem.List) {
	if !s.changesTree() {
		return exp, nil
	}
	root, err := spec.With(exp.Root, spec.Path{{Key: "spec"}, {Key: "matrix"}},
		&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"})
	var problems problem.List
	for i, a := range s.axes {
		n := s.baseNode(exp, i)
		if n == nil || err != nil {
			continue
		}
		if root, err = spec.With(root, inSpec(s.paths[i]), n); err != nil {
			problems.Add(problem.At(exp.File, n, a.place, "%s", err))
			return nil, problems
		}
	}
	base, problems := spec.DecodeExperiment(&exp.Doc, root)
	if problems.Err() != nil {
		return nil, problems
	}
	base.Spec.Matrix = exp.Spec.Matrix
	s.record(base)
	return base, nil // Load has reported the warnings
}

// changesTree reports whether the matrix block says anything that the experiment's own fields do not.
func (s *source) changesTree() bool {
	for i, a := range s.axes {
		if s.intoSpec(i) || slices.ContainsFunc(a.values, func(v value) bool { return v.node != nil }) {
			return true
		}
	}
	return false
}

// baseNode is what stands at axis i in the base: all values of a built-in axis, the first of another.
func (s *source) baseNode(exp *spec.Experiment, i int) *yaml.Node {
	a := s.axes[i]
	if findBuiltIn(a.path) == nil {
		if !s.intoSpec(i) {
			return nil
		}
		return a.values[0].node
	}
	list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	if a.path == atTarget {
		return nil
	}
	for j, v := range a.values {
		list.Content = append(list.Content, v.scalar(exp.Pos(fmt.Sprintf("%s[%d]", a.place, j))))
	}
	return list
}

// record notes the values of built-in axes as the format types them.
func (s *source) record(base *spec.Experiment) {
	for _, a := range s.axes {
		b := findBuiltIn(a.path)
		if b == nil {
			continue
		}
		if typed := b.values(&base.Spec); len(typed) == len(a.values) {
			a.values = typed
		}
	}
}

// section returns the experiment as it is at a point, as far as the top-level key of spec goes.
func (s *source) section(key string, digits []int) (*spec.ExperimentSpec, problem.List) {
	v := s.sections[key]
	if v == nil {
		v = newVariants[*spec.Experiment](s.grid, s.below(key))
		s.sections[key] = v
	}
	if len(v.axes) == 0 {
		return &s.exp.Spec, nil
	}
	exp, problems := v.at(digits, func() (*spec.Experiment, problem.List) {
		root, problems := s.tree(v.axes, digits)
		if problems.Err() != nil {
			return nil, problems
		}
		variant, problems := spec.DecodeExperiment(&s.exp.Doc, root)
		return variant, problems.Errors() // Load has reported the warnings
	})
	if exp == nil {
		exp = s.exp
	}
	return &exp.Spec, problems
}

// tree returns the experiment's document with the values of a point on the given axes.
func (s *source) tree(axes []int, digits []int) (*yaml.Node, problem.List) {
	return s.replaced(s.exp.File, s.exp.Root, axes, digits, inSpec)
}

// replaced returns root with the values of a point on the given axes, each at the place that path names.
func (s *source) replaced(file string, root *yaml.Node, axes, digits []int,
	at func(spec.Path) spec.Path) (*yaml.Node, problem.List) {
	for _, a := range axes {
		n := s.axes[a].values[digits[a]].node
		if n == nil {
			continue
		}
		var err error
		if root, err = spec.With(root, at(s.paths[a]), n); err != nil {
			return nil, problem.List{problem.At(file, n, s.axes[a].place, "%s", err)}
		}
	}
	return root, nil
}

// inSpec is a path below spec from the document's root.
func inSpec(p spec.Path) spec.Path { return append(spec.Path{{Key: "spec"}}, p...) }

// inProfile is a path such as deployment.runtime.image from the root of the profile.
func inProfile(p spec.Path) spec.Path { return inSpec(p[1:]) }

// pick returns the value of a built-in axis at a point, the only value, or the zero value.
func pick[T any](s *source, path string, list []T, digits []int) T {
	var none T
	if len(list) == 0 {
		return none
	}
	if a, ok := s.at[path]; ok && digits[a] < len(list) {
		return list[digits[a]]
	}
	return list[0]
}
