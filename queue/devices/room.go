package devices

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Room says whether the pods of a run find their devices on single nodes, which a quota cannot see.
type Room struct {
	Enough   bool
	Never    bool   // not even if every node were there, empty and in full health
	Outsider bool   // not even if all runs ended: it waits for pods of others, or for nodes
	Why      string // where it is not enough, in one sentence without a full stop
}

// Room looks for room for want beside what is held. Assumed are pods of runs that were let start and that no node has
// yet: they take the places that hurt most, since nobody knows where the scheduler will put them.
func (inv *Inventory) Room(want, assumed []Shape) Room {
	if len(want) == 0 {
		return Room{Enough: true}
	}
	assumed = inv.rivals(want, merged(assumed))
	free := inv.spaces((*Node).Free)
	if free.place(assumed) != nil {
		return Room{Why: "a run that was started before still waits for its devices"}
	}
	missed := inv.beside(free, want, assumed)
	if missed == nil {
		return Room{Enough: true}
	}
	unheld := func(n *Node) Amounts {
		if n.Lost != "" {
			return Amounts{}
		}
		return n.Total.less(n.Foreign)
	}
	return Room{
		Never:    inv.spaces((*Node).Full).place(want) != nil,
		Outsider: inv.spaces(unheld).place(want) != nil,
		Why:      inv.why(*missed, assumed),
	}
}

// beside returns the first shape of want that finds no room wherever assumed may lie, nil where all do. Pods of several
// shapes that compete with each other count as if each were as large as all of them: which places are left for which is
// not known.
func (inv *Inventory) beside(free spaces, want, assumed []Shape) *Shape {
	if len(assumed) == 0 {
		return free.place(want)
	}
	for _, group := range inv.groups(want) {
		all := kind{}
		for _, s := range group {
			all.shapes, all.count = append(all.shapes, s.Requests), all.count+s.Count
		}
		if free.worst(kindsOf(inv.rivals(group, assumed)), all) < all.count {
			return &group[0]
		}
	}
	return nil
}

// groups are the shapes of pods that compete with each other, also by way of others.
func (inv *Inventory) groups(shapes []Shape) (out [][]Shape) {
	for _, s := range shapes {
		joined := []Shape{s}
		out = slices.DeleteFunc(out, func(group []Shape) bool {
			if len(inv.rivals([]Shape{s}, group)) == 0 {
				return false
			}
			joined = append(joined, group...)
			return true
		})
		out = append(out, joined)
	}
	return out
}

// spaces are the nodes with what is free on each.
type spaces []*space

type space struct {
	node *Node
	free Amounts
}

func (inv *Inventory) spaces(free func(*Node) Amounts) spaces {
	var out spaces
	for _, n := range inv.Nodes {
		out = append(out, &space{node: n, free: free(n)})
	}
	return out
}

func (s *space) fits(a Amounts) bool { return s.free.covers(s.node.withProducts(a)) }

// left is how many devices of a's kinds are free here.
func (s *space) left(a Amounts) int64 {
	var sum int64
	for name := range a {
		sum += s.free[name]
	}
	return sum
}

// place puts pods where the least is left: large ones first, and where that does not do, first those that fit on the
// fewest nodes. It returns the first shape that finds no room.
func (f spaces) place(pods []Shape) *Shape {
	bySize := slices.SortedStableFunc(slices.Values(pods), func(a, b Shape) int { return cmp.Compare(b.size(), a.size()) })
	missed := f.inOrder(bySize)
	if missed == nil || len(pods) == 1 {
		return missed
	}
	nodes := func(p Shape) (n int) {
		for _, s := range f {
			if s.fits(p.Requests) {
				n++
			}
		}
		return n
	}
	byNodes := slices.SortedStableFunc(slices.Values(bySize),
		func(a, b Shape) int { return cmp.Compare(nodes(a), nodes(b)) })
	if f.inOrder(byNodes) == nil {
		return nil
	}
	return missed
}

func (f spaces) inOrder(pods []Shape) *Shape {
	f = f.copied()
	for _, p := range pods {
		needs := make([]Amounts, len(f))
		for i, s := range f {
			needs[i] = s.node.withProducts(p.Requests)
		}
		for range p.Count {
			i := f.choose(needs, p.Requests)
			if i < 0 {
				return &p
			}
			f[i].free = f[i].free.less(needs[i])
		}
	}
	return nil
}

func (f spaces) copied() spaces {
	out := make(spaces, len(f))
	for i, s := range f {
		out[i] = &space{node: s.node, free: s.free} // who takes from it replaces free
	}
	return out
}

func (s Shape) size() int64 {
	var sum int64
	for _, n := range s.Requests {
		sum += n
	}
	return sum
}

// choose returns the node with room for a pod that has the least left of what it asks for, -1 where none has. needs are
// what the pod takes on each.
func (f spaces) choose(needs []Amounts, asks Amounts) int {
	best := -1
	for i, s := range f {
		if s.free.covers(needs[i]) && (best < 0 || s.left(asks) < f[best].left(asks)) {
			best = i
		}
	}
	return best
}

// why tells what is there of the kinds that a shape asks for, on the nodes where it could lie; where there are none, on
// all.
func (inv *Inventory) why(want Shape, assumed []Shape) string {
	promised := Amounts{}
	for _, s := range assumed {
		for name, n := range s.Requests {
			promised[name] += s.Count * n
		}
	}
	here := &Inventory{}
	for _, n := range inv.Nodes {
		if n.matters(want.Requests) {
			here.Nodes = append(here.Nodes, n)
		}
	}
	if len(here.Nodes) == 0 {
		here = inv
	}
	free, total, foreign := here.Free(), here.Total(), here.Foreign()
	var parts []string
	for _, name := range sorted(want.Requests) {
		var most int64
		for _, n := range here.Nodes {
			most = max(most, n.Free()[name])
		}
		part := fmt.Sprintf("%d of %d %s are free, at most %d on one node", free[name], total[name], name, most)
		if n := promised[name]; n > 0 {
			part += fmt.Sprintf("; %d of them are for runs that were started", n)
		}
		if others := foreign[name]; others > 0 {
			part += fmt.Sprintf("; others hold %d", others)
		}
		parts = append(parts, part)
	}
	if lost := here.Lost(); len(lost) > 0 {
		parts = append(parts, "no pods on "+strings.Join(lost[:min(3, len(lost))], ", "))
	}
	return "no room for " + want.String() + ": " + strings.Join(parts, "; ")
}
