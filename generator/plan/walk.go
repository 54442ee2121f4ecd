package plan

import (
	"fmt"
	"slices"
	"strings"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/runplan"
)

// walk makes the plans of a matrix one after the other and remembers what it needs to find equal ones.
type walk struct {
	*Matrix
	seen map[string]*twins // by hash
	// check says that nobody wants the plans, only their problems.
	check  bool
	sealer *runplan.Sealer
}

func newWalk(m *Matrix) *walk {
	return &walk{Matrix: m, seen: make(map[string]*twins, m.units.len()), sealer: m.r.platforms.Sealer()}
}

// plan returns the plan of unit u in a round of repeats.
func (w *walk) plan(u, round int) (*runplan.RunPlan, problem.List) {
	plan, problems := w.resolve(u)
	if plan == nil {
		return nil, distinct(problems)
	}
	content := *plan
	w.place(plan, u, round)
	if err := w.identify(plan); err != nil {
		problems.Add(w.exp.Problem("spec", "%s", err))
	}
	if round == 0 {
		problems.Add(w.equal(plan.Hash, &content, u)...)
	}
	if problems.Err() != nil {
		return nil, distinct(problems)
	}
	return plan, problems
}

func (w *walk) identify(p *runplan.RunPlan) error {
	if w.check {
		return w.sealer.Hash(p)
	}
	return w.sealer.Seal(p)
}

// resolve returns the plan of unit u as it is wherever it stands in the matrix.
func (w *walk) resolve(u int) (*runplan.RunPlan, problem.List) {
	points := w.units.points(u)
	p := &point{resolver: w.r, digits: make([]int, len(w.r.axes))}
	loads := make([]measured, len(points))
	for i, n := range points {
		w.r.point(n, p.digits)
		loads[i] = p.load()
	}
	w.r.point(points[0], p.digits)
	plan := p.resolve(loads, w.benchmarks(loads))
	if plan != nil && len(points) > 1 {
		w.nameMeasurements(plan, points)
		p.problems.Add(w.equalLoads(plan.Measurements, points)...)
	}
	return plan, p.problems
}

// place gives plan its name and place in the matrix. A single plan without repeats is a plain run.
func (w *walk) place(plan *runplan.RunPlan, u, round int) {
	plan.Axes, plan.Index = w.axes(w.units.points(u)), u+1
	index := plan.Index
	if w.units.len() == 1 {
		index = 0
	}
	if w.exp.Spec.Matrix.Repeat > 1 {
		plan.Repeat = round + 1
	}
	plan.Name = runplan.PointName(w.exp.Metadata.Name, index, plan.Repeat)
}

// benchmarks names the loads of a plan, each once.
func (w *walk) benchmarks(loads []measured) string {
	var names []string
	for _, l := range loads {
		if !slices.Contains(names, l.benchmark) {
			names = append(names, l.benchmark)
		}
	}
	return strings.Join(names, "+")
}

// axes returns what tells the unit of points from the others: a value per axis, a list where its points differ.
func (w *walk) axes(points []int) []runplan.AxisValue {
	if w.units.len() == 1 {
		return nil
	}
	var out []runplan.AxisValue
	for a, ax := range w.r.axes {
		if len(ax.values) < 2 {
			continue
		}
		var values []any
		for _, i := range w.values(a, points) {
			values = append(values, ax.values[i].data)
		}
		v := runplan.AxisValue{Path: ax.path, Value: values}
		if len(values) == 1 {
			v.Value = values[0]
		}
		out = append(out, v)
	}
	return out
}

// values returns the distinct indexes that points have on axis a.
func (w *walk) values(a int, points []int) []int {
	var out []int
	digits := make([]int, len(w.r.axes))
	for _, n := range points {
		if w.r.point(n, digits); !slices.Contains(out, digits[a]) {
			out = append(out, digits[a])
		}
	}
	return out
}

// nameMeasurements tells the loads of a shared deployment apart by the values of the axes in which they differ.
func (w *walk) nameMeasurements(plan *runplan.RunPlan, points []int) {
	digits := make([]int, len(w.r.axes))
	for i, n := range points {
		w.r.point(n, digits)
		var words []string
		for a, ax := range w.r.axes {
			if ax.path == atBenchmark || len(w.values(a, points)) < 2 {
				continue
			}
			words = append(words, fmt.Sprintf("%s=%s", ax.path[strings.LastIndex(ax.path, ".")+1:], ax.values[digits[a]].key))
		}
		if len(words) > 0 {
			plan.Measurements[i].Name += " " + strings.Join(words, " ")
		}
	}
}

// tryValues resolves one point for every value of every axis, beside the first of the others, so that what is wrong
// with a value is known before the first plan is made. Points that are not in the matrix are left out: what only
// they break is no problem.
func (m *Matrix) tryValues() problem.List {
	var problems problem.List
	try := func(digits []int) {
		p := &point{resolver: m.r, digits: digits}
		l := p.load()
		p.resolve([]measured{l}, l.benchmark)
		problems = append(problems, p.problems...)
	}
	first := make([]int, len(m.r.axes))
	if !m.r.excludes(first) {
		try(first)
	}
	for a, ax := range m.r.axes {
		for i := 1; i < ax.product; i++ {
			digits := make([]int, len(m.r.axes))
			for _, other := range m.zipped(a) {
				digits[other] = i
			}
			if !m.r.excludes(digits) {
				try(digits)
			}
		}
	}
	for _, digits := range m.r.included {
		try(digits)
	}
	return problems
}

// zipped returns axis a and those that advance with it.
func (m *Matrix) zipped(a int) []int {
	for _, d := range m.r.dims {
		if slices.Contains(d.axes, a) {
			return d.axes
		}
	}
	return nil
}

// tooLarge guards against a matrix that nobody meant.
func (m *Matrix) tooLarge() problem.List {
	points := m.r.points()
	if points == 0 {
		return problem.List{m.exp.Problem("spec.matrix.exclude", "every point is excluded")}
	}
	limit := m.r.opt.maxPoints()
	if m.repeats() > limit/points {
		return problem.List{
			m.exp.Problem("spec.matrix", "%d points x %d repeats are more than %d runs; remove values or raise --max-points",
				points, m.repeats(), limit)}
	}
	return nil
}
