package plan

import (
	"iter"

	"bflow.dev/bflow/generator/spec"
)

// units are the groups of points that become one plan each: a point alone, or all that differ only in their load and
// share a deployment.
type units struct {
	grid   *grid
	groups [][]int // points of a unit, in matrix order; nil = every point alone
}

func newUnits(r *resolver) *units {
	u := &units{grid: r.grid}
	if !r.sharing() {
		return u
	}
	place := map[unitKey]int{}
	rest := newVariants[int](r.grid, r.axesThat(func(p spec.Path) bool { return !loadOnly(p) }))
	digits := make([]int, len(r.axes))
	for i := range r.points() {
		r.point(i, digits)
		p := &point{resolver: r, digits: digits}
		key := unitKey{rest.key(digits), p.load().needs}
		at, known := place[key]
		if !known || !p.spec("execution").Execution.ShareDeployment {
			at = len(u.groups)
			place[key] = at
			u.groups = append(u.groups, nil)
		}
		u.groups[at] = append(u.groups[at], i)
	}
	return u
}

// sharing reports whether any point may share its deployment with others.
func (r *resolver) sharing() bool {
	for s := range r.variants("execution") {
		if s.Execution.ShareDeployment {
			return true
		}
	}
	return false
}

// variants yields the experiment with every value of every axis in a section of spec, beside the first of the others.
func (r *resolver) variants(key string) iter.Seq[*spec.ExperimentSpec] {
	return func(yield func(*spec.ExperimentSpec) bool) {
		digits := make([]int, len(r.axes))
		at := func() bool { return yield((&point{resolver: r, digits: digits}).spec(key)) }
		if !at() {
			return
		}
		for _, a := range r.below(key) {
			for digits[a] = 1; digits[a] < len(r.axes[a].values); digits[a]++ {
				if !at() {
					return
				}
			}
			digits[a] = 0
		}
	}
}

// unitKey tells deployments apart: the values of every axis that is not the load's, and the length that the load
// asks of the server.
type unitKey struct{ rest, needs int }

func (u *units) len() int {
	if u.groups == nil {
		return u.grid.points()
	}
	return len(u.groups)
}

// points returns the points of unit i.
func (u *units) points(i int) []int {
	if u.groups == nil {
		return []int{i}
	}
	return u.groups[i]
}
