package plan

import (
	"fmt"
	"testing"
)

// TestEveryCombinationIsNamedOnce counts through grids of all small shapes.
func TestEveryCombinationIsNamedOnce(t *testing.T) {
	for sizes := range 4 * 4 * 4 {
		g := &grid{size: 1}
		for i, n := range []int{sizes%4 + 1, sizes/4%4 + 1, sizes/16 + 1} {
			g.axes = append(g.axes, &axis{values: make([]value, n), product: n})
			g.dims = append(g.dims, dimension{axes: []int{i}, size: n})
		}
		g.size = combinations(g.dims)
		g.excluded = []partial{{0: 0, 2: 0}}
		g.thin()
		seen := map[string]bool{}
		digits := make([]int, 3)
		for i := range g.points() {
			g.point(i, digits)
			seen[fmt.Sprint(digits)] = true
			if g.excludes(digits) {
				t.Errorf("%v is excluded", digits)
			}
		}
		if want := g.size - len(g.axes[1].values); len(seen) != want || g.points() != want {
			t.Errorf("%d points, %d of them different, want %d", g.points(), len(seen), want)
		}
	}
}

func TestZippedAxesAdvanceTogether(t *testing.T) {
	g := &grid{axes: []*axis{{product: 3}, {product: 2}, {product: 3}},
		dims: []dimension{{axes: []int{0, 2}, size: 3}, {axes: []int{1}, size: 2}}}
	g.size = combinations(g.dims)
	digits := make([]int, 3)
	var got [][3]int
	for i := range g.points() {
		g.point(i, digits)
		got = append(got, [3]int(digits))
	}
	if want := [][3]int{{0, 0, 0}, {0, 1, 0}, {1, 0, 1}, {1, 1, 1}, {2, 0, 2},
		{2, 1, 2}}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAnAbsurdProductDoesNotWrapAround(t *testing.T) {
	dims := make([]dimension, 20)
	for i := range dims {
		dims[i].size = 1000
	}
	if n := combinations(dims); n < tooMany {
		t.Errorf("%d combinations", n)
	}
}
