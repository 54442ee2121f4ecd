package plan

import "bflow.dev/bflow/internal/problem"

// variants keeps what is made per combination of the axes it depends on, so that ten thousand points do not decode
// one profile ten thousand times.
type variants[T any] struct {
	grid *grid
	axes []int
	made map[int]variant[T]
}

type variant[T any] struct {
	value    T
	problems problem.List
}

// maxVariants bounds the memory of one cache. Neighbouring points share variants, so starting over is cheap.
const maxVariants = 4096

func newVariants[T any](g *grid, axes []int) *variants[T] {
	return &variants[T]{grid: g, axes: axes, made: map[int]variant[T]{}}
}

// at returns the variant of a point, calling produce at first sight.
func (v *variants[T]) at(digits []int, produce func() (T, problem.List)) (T, problem.List) {
	key := v.key(digits)
	if known, ok := v.made[key]; ok {
		return known.value, known.problems
	}
	if len(v.made) >= maxVariants {
		clear(v.made)
	}
	value, problems := produce()
	v.made[key] = variant[T]{value, problems}
	return value, problems
}

// key is one number per combination of the axes.
func (v *variants[T]) key(digits []int) int {
	key := 0
	for _, a := range v.axes {
		key = key*len(v.grid.axes[a].values) + digits[a]
	}
	return key
}
