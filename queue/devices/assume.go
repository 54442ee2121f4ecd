package devices

import (
	"cmp"
	"slices"
)

// kind is a number of pods, each of which has one of some shapes: nobody asks which. It is as pessimistic as it must
// be: such a pod fits where the smallest of them would, and takes as much as the largest.
type kind struct {
	shapes []Amounts
	count  int64
}

// maxStates bounds how many combinations of pods are looked at on each node.
const maxStates = 1024

// merged puts pods of one shape together: runs of one experiment have the same.
func merged(pods []Shape) (out []Shape) {
	at := map[string]int{}
	for _, p := range pods {
		key := p.Requests.String()
		if i, known := at[key]; known {
			out[i].Count += p.Count
			continue
		}
		at[key] = len(out)
		out = append(out, p)
	}
	return out
}

// kindsOf are pods of several shapes, merged. Where the shapes are so many that their combinations are too many, the
// smallest become one kind.
func kindsOf(pods []Shape) []kind {
	var kinds []kind
	for _, p := range pods {
		kinds = append(kinds, kind{[]Amounts{p.Requests}, p.Count})
	}
	slices.SortStableFunc(kinds, func(a, b kind) int {
		return cmp.Compare(Shape{Requests: a.shapes[0]}.size(), Shape{Requests: b.shapes[0]}.size())
	})
	for len(kinds) > 1 && states(kinds) > maxStates {
		kinds[1].shapes, kinds[1].count = append(kinds[0].shapes, kinds[1].shapes...), kinds[0].count+kinds[1].count
		kinds = kinds[1:]
	}
	return kinds
}

// states is how many combinations there are of pods of each kind, none to all: at least maxStates+1 where they are
// more.
func states(kinds []kind) int64 {
	n := int64(1)
	for _, k := range kinds {
		if n *= min(k.count, maxStates) + 1; n > maxStates {
			return n
		}
	}
	return n
}

// together is what those of pods need on a node that compete with each other, if the node does not know which pods
// will come: the least and the most that one of them takes there.
func (n *Node) together(shapes []Amounts) (least, most Amounts) {
	for i, s := range shapes {
		a := n.withProducts(s)
		if i == 0 {
			least, most = a, Amounts{}
		}
		most.raise(a)
		for name := range least {
			least[name] = min(least[name], a[name])
		}
	}
	return least, most
}

// worst is how many places for pods of want are left when pods of kinds lie where most of them are lost: nobody knows
// where the scheduler will put them, nor in which order, and a node is not told before. It is exact (a knapsack over
// nodes, of all kinds at once) but for what kind says.
func (f spaces) worst(kinds []kind, want kind) int64 {
	lost := make([]int64, 1) // places, by so many pods of each kind on the nodes seen
	strides := make([]int, len(kinds))
	for i, k := range kinds {
		strides[i] = len(lost)
		lost = make([]int64, len(lost)*int(k.count+1))
	}
	digits := make([][]int64, len(lost))
	for n := range digits {
		digits[n] = make([]int64, len(kinds))
		for i, k := range kinds {
			digits[n][i] = int64(n/strides[i]) % (k.count + 1)
		}
	}
	var places int64
	known := map[string]outlook{} // nodes of a cluster look much the same
	for _, s := range f {
		key := s.String()
		o, there := known[key]
		if !there {
			o.places, o.choices = s.choices(kinds, want)
			for i, c := range o.choices {
				o.choices[i].offset = c.at(strides)
			}
			known[key] = o
		}
		places += o.places
		for n := len(lost) - 1; n > 0 && len(o.choices) > 0; n-- { // downwards: what is before n is without this node still
			for _, c := range o.choices {
				if c.within(digits[n]) {
					lost[n] = max(lost[n], lost[n-c.offset]+c.lost)
				}
			}
		}
	}
	return places - lost[len(lost)-1]
}

// outlook is what a node has for pods that come.
type outlook struct {
	places  int64
	choices []choice
}

// choice is so many pods of each kind on a node, and the places that they take there.
type choice struct {
	pods   []int64
	lost   int64
	offset int
}

// String is the same for nodes on which the same finds room.
func (s *space) String() string {
	text := s.free.String()
	for _, name := range sorted(s.node.product) {
		text += " " + name + "=" + s.node.product[name]
	}
	return text
}

func (c choice) within(pods []int64) bool {
	for i, n := range c.pods {
		if n > pods[i] {
			return false
		}
	}
	return true
}

func (c choice) at(strides []int) (n int) {
	for i, k := range c.pods {
		n += int(k) * strides[i]
	}
	return n
}

// choices are the places for pods of want here, and all combinations of pods that take some of them. One that takes
// no more than another of fewer pods is left out.
func (s *space) choices(kinds []kind, want kind) (places int64, out []choice) {
	_, need := s.node.together(want.shapes)
	if places = s.free.slots(need); places == 0 {
		return 0, nil
	}
	least, most := make([]Amounts, len(kinds)), make([]Amounts, len(kinds))
	for i, k := range kinds {
		least[i], most[i] = s.node.together(k.shapes)
	}
	pods := make([]int64, len(kinds))
	var walk func(i int, fits, left Amounts)
	walk = func(i int, fits, left Amounts) {
		if i == len(kinds) {
			if c := (choice{pods: slices.Clone(pods), lost: places - left.slots(need)}); c.lost > 0 {
				out = append(out, c)
			}
			return
		}
		walk(i+1, fits, left)
		for pods[i] < kinds[i].count && fits.covers(least[i]) && left.slots(need) > 0 {
			fits, left = fits.less(least[i]), left.less(most[i])
			pods[i]++
			walk(i+1, fits, left)
		}
		pods[i] = 0
	}
	walk(0, s.free, s.free)
	slices.SortStableFunc(out, func(a, b choice) int {
		return cmp.Or(cmp.Compare(sum(a.pods), sum(b.pods)), cmp.Compare(b.lost, a.lost))
	})
	var best []choice
	for _, c := range out {
		if !slices.ContainsFunc(best, func(b choice) bool { return b.lost >= c.lost && b.within(c.pods) }) {
			best = append(best, c)
		}
	}
	return places, best
}

func sum(of []int64) (n int64) {
	for _, x := range of {
		n += x
	}
	return n
}

// slots is how many pods that take need fit into a; where they take nothing, none.
func (a Amounts) slots(need Amounts) int64 {
	least := int64(-1)
	for name, n := range need {
		if n > 0 && (least < 0 || a[name]/n < least) {
			least = a[name] / n
		}
	}
	return max(0, least)
}
