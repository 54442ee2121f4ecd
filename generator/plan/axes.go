package plan

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/internal/problem"
)

// axesOf collects the axes of an experiment in the order of the format: the built-in ones, then matrix.axes as
// written, then what only matrix.include names.
type axesOf struct {
	exp      *spec.Experiment
	grid     *grid
	at       map[string]int // path -> index into grid.axes
	problems problem.List
}

func newGrid(exp *spec.Experiment) (*grid, problem.List) {
	c := &axesOf{exp: exp, grid: &grid{}, at: map[string]int{}}
	c.builtIn()
	for _, decl := range exp.Spec.Matrix.Axes {
		c.declared(decl)
	}
	c.dimensions()
	for i, p := range exp.Spec.Matrix.Exclude {
		c.exclude(i, p)
	}
	for i, p := range exp.Spec.Matrix.Include {
		c.include(i, p)
	}
	for i, digits := range c.grid.included { // later entries may have named further axes
		c.grid.included[i] = append(digits, make([]int, len(c.grid.axes)-len(digits))...)
	}
	c.grid.size = combinations(c.grid.dims)
	return c.grid, c.problems
}

func (c *axesOf) add(a *axis) int {
	c.at[a.path] = len(c.grid.axes)
	c.grid.axes = append(c.grid.axes, a)
	return len(c.grid.axes) - 1
}

// builtIn adds the built-in axes that have several values.
func (c *axesOf) builtIn() {
	for _, b := range builtIns() {
		values := b.values(&c.exp.Spec)
		if len(values) < 2 {
			continue
		}
		c.add(&axis{path: b.path, place: "spec." + b.path, values: values, product: len(values)})
	}
}

func (c *axesOf) declared(decl spec.AxisDecl) {
	path, err := c.path(decl.Path)
	if err != nil {
		c.problems.Add(problem.At(c.exp.File, decl.Key, "spec.matrix.axes", "%s", err))
		return
	}
	place := "spec." + spec.Path{{Key: "matrix"}, {Key: "axes"}, {Key: decl.Path}}.String()
	if clash := c.overlaps(path); clash != "" {
		c.problems.Add(problem.At(c.exp.File, decl.Key, place, "%s is already an axis; list its values in one place", clash))
		return
	}
	a := &axis{path: path.String(), place: place}
	for i, n := range decl.Values {
		v, err := nodeValue(n)
		if err != nil {
			c.problems.Add(problem.At(c.exp.File, n, fmt.Sprintf("%s[%d]", place, i), "%s", err))
			continue
		}
		a.values = append(a.values, v)
	}
	a.product = len(a.values)
	c.add(a)
}

// path reads the path of an axis. The matrix itself cannot vary.
func (c *axesOf) path(s string) (spec.Path, error) {
	path, err := spec.ParsePath(s)
	if err != nil {
		return nil, err
	}
	switch path[0].Key {
	case "matrix", "":
		return nil, fmt.Errorf("%q cannot be an axis", s)
	case atTarget:
		return nil, fmt.Errorf("%q is an axis of its own; list the clusters in spec.%s", s, atTarget)
	}
	return path, nil
}

// overlaps returns the axis at, above or below path.
func (c *axesOf) overlaps(path spec.Path) string {
	for _, a := range c.grid.axes {
		other, err := spec.ParsePath(a.path)
		if err != nil {
			continue
		}
		if n := min(len(other), len(path)); slices.Equal(other[:n], path[:n]) {
			return a.path
		}
	}
	return ""
}

// dimensions makes the factors of the product, where zipped axes are one, at the place of the first of them.
func (c *axesOf) dimensions() {
	group := map[int][]int{}
	for _, paths := range c.exp.Spec.Matrix.Zip {
		axes := c.zipped(paths)
		for _, a := range axes {
			group[a] = axes
		}
	}
	for a := range c.grid.axes {
		axes, zipped := group[a]
		if !zipped {
			axes = []int{a}
		}
		if slices.Min(axes) == a {
			c.grid.dims = append(c.grid.dims, dimension{axes: axes, size: c.grid.axes[a].product})
		}
	}
}

// zipped returns the axes of a group of paths, which the loader has checked. A list of one value is no axis.
func (c *axesOf) zipped(paths []string) []int {
	var axes []int
	for _, s := range paths {
		if a, ok := c.find(s); ok {
			axes = append(axes, a)
		}
	}
	return axes
}

func (c *axesOf) find(s string) (int, bool) {
	path, err := spec.ParsePath(s)
	if err != nil {
		return 0, false
	}
	a, ok := c.at[path.String()]
	return a, ok
}

func (c *axesOf) exclude(i int, p spec.PartialPoint) {
	place := fmt.Sprintf("spec.matrix.exclude[%d]", i)
	match := partial{}
	for _, entry := range p {
		a, ok := c.find(entry.Path)
		if !ok {
			c.problems.Add(problem.At(c.exp.File, entry.Key, place, "%q is not an axis, so this excludes nothing", entry.Path))
			return
		}
		v, err := nodeValue(entry.Value)
		if err != nil {
			c.problems.Add(problem.At(c.exp.File, entry.Value, place, "%s", err))
			return
		}
		if match[a] = c.grid.axes[a].find(v); match[a] < 0 {
			c.problems.Add(problem.At(c.exp.File, entry.Value, place, "%s is not a value of axis %q, so this excludes nothing",
				v.key, entry.Path))
			return
		}
	}
	if len(match) == 0 || !c.possible(match) {
		c.problems.Add(c.exp.Problem(place, "no point has these values together, so this excludes nothing"))
		return
	}
	c.grid.excluded = append(c.grid.excluded, match)
}

// possible reports whether zipped axes reach the values of match together.
func (c *axesOf) possible(match partial) bool {
	for _, d := range c.grid.dims {
		want := -1
		for _, a := range d.axes {
			i, ok := match[a]
			if ok && want >= 0 && i != want {
				return false
			}
			if ok {
				want = i
			}
		}
	}
	return true
}

func (c *axesOf) include(i int, p spec.PartialPoint) {
	place := fmt.Sprintf("spec.matrix.include[%d]", i)
	digits := make([]int, len(c.grid.axes))
	for _, entry := range p {
		a, err := c.includedAxis(entry.Path)
		if err != nil {
			c.problems.Add(problem.At(c.exp.File, entry.Key, place, "%s", err))
			return
		}
		v, err := nodeValue(entry.Value)
		if err != nil {
			c.problems.Add(problem.At(c.exp.File, entry.Value, place, "%s", err))
			return
		}
		if ax := c.grid.axes[a]; ax.path == atTarget && ax.find(v) < 0 {
			c.problems.Add(problem.At(c.exp.File, entry.Value, place,
				"no cluster %q; list it in spec.%s and exclude the points you do not want", v.key, atTarget))
			return
		}
		digits = append(digits, make([]int, len(c.grid.axes)-len(digits))...)
		digits[a] = c.grid.axes[a].add(v)
	}
	if len(p) == 0 {
		c.problems.Add(c.exp.Problem(place, "it has no values, so it appends no point"))
		return
	}
	c.grid.included = append(c.grid.included, digits)
}

// includedAxis finds the axis at s, or makes one of the value that is there now, which may be none.
func (c *axesOf) includedAxis(s string) (int, error) {
	if a, ok := c.find(s); ok {
		return a, nil
	}
	path, err := c.path(s)
	if err != nil {
		return 0, err
	}
	if clash := c.overlaps(path); clash != "" {
		return 0, fmt.Errorf("%q is part of axis %q", s, clash)
	}
	a := &axis{path: path.String(), place: "spec." + path.String(), product: 1}
	if b := findBuiltIn(a.path); b != nil {
		a.values = b.values(&c.exp.Spec)
	} else if n := spec.Get(c.exp.Root, append(spec.Path{{Key: "spec"}}, path...)); n != nil {
		v, err := nodeValue(n)
		if err != nil {
			return 0, err
		}
		a.values = []value{v}
	}
	if len(a.values) == 0 {
		a.values = []value{{}} // as the file leaves it
	}
	a.grounded()
	c.grid.dims = append(c.grid.dims, dimension{axes: []int{len(c.grid.axes)}, size: 1})
	return c.add(a), nil
}

// grounded marks the one value as what the file says already.
func (a *axis) grounded() { a.values = a.values[:1]; a.values[0].node = nil }

// scalar makes a node of a typed value.
func (v value) scalar(at *yaml.Node) *yaml.Node {
	if v.node != nil {
		return v.node
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v.key}
	if _, number := v.data.(int); number {
		n.Tag = "!!int"
	}
	if at != nil {
		n.Line, n.Column = at.Line, at.Column
	}
	return n
}
