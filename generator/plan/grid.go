package plan

import "math"

// grid is the matrix as arithmetic: it names every point by the index of its value on each axis, and holds no points.
type grid struct {
	axes     []*axis
	dims     []dimension
	excluded []partial
	kept     []int   // combinations that no entry excludes; nil = all of them
	size     int     // of the product
	included [][]int // points appended, one index per axis
}

// dimension is one factor of the product: an axis, or several that advance together.
type dimension struct {
	axes []int
	size int
}

// partial maps axes to the index of a value; axes that are not in it match any.
type partial map[int]int

// tooMany is how many combinations are looked at before matrix.exclude thins them out.
const tooMany = 10_000_000

// combinations is the size of the product of dims, math.MaxInt where that is above any sense.
func combinations(dims []dimension) int {
	n := 1
	for _, d := range dims {
		if d.size > 0 && n > math.MaxInt/d.size {
			return math.MaxInt
		}
		n *= d.size
	}
	return n
}

// thin applies matrix.exclude.
func (g *grid) thin() {
	if len(g.excluded) == 0 {
		return
	}
	g.kept = make([]int, 0, g.size)
	digits := make([]int, len(g.axes))
	for i := range g.size {
		if g.combination(i, digits); !g.excludes(digits) {
			g.kept = append(g.kept, i)
		}
	}
}

func (g *grid) excludes(digits []int) bool {
	for _, p := range g.excluded {
		if p.matches(digits) {
			return true
		}
	}
	return false
}

func (p partial) matches(digits []int) bool {
	for axis, i := range p {
		if digits[axis] != i {
			return false
		}
	}
	return true
}

// points is how many there are, repeats not counted.
func (g *grid) points() int { return g.fromProduct() + len(g.included) }

func (g *grid) fromProduct() int {
	if g.kept != nil {
		return len(g.kept)
	}
	return g.size
}

// point writes the indexes of point i, from 0, into digits.
func (g *grid) point(i int, digits []int) {
	if n := g.fromProduct(); i >= n {
		copy(digits, g.included[i-n])
		return
	}
	if g.kept != nil {
		i = g.kept[i]
	}
	g.combination(i, digits)
}

// combination counts like an odometer: the last dimension is the fastest.
func (g *grid) combination(i int, digits []int) {
	for d := len(g.dims) - 1; d >= 0; d-- {
		dim := g.dims[d]
		for _, a := range dim.axes {
			digits[a] = i % dim.size
		}
		i /= dim.size
	}
}
