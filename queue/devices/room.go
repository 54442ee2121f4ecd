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
	assumed = inv.rivals(want, assumed)
	free := inv.spaces((*Node).Free)
	if !free.assume(assumed, want[0].Requests) {
		return Room{Why: "a run that was let start before still waits for its devices"}
	}
	missed := free.place(want)
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

func (s *space) holds(a Amounts) bool { return s.free.holds(s.node.withProducts(a)) }

func (s *space) take(a Amounts) { s.free = s.free.less(s.node.withProducts(a)) }

// slots is how many pods of shape a would find room here.
func (s *space) slots(a Amounts) int64 {
	least := int64(-1)
	for name, n := range s.node.withProducts(a) {
		if n > 0 && (least < 0 || s.free[name]/n < least) {
			least = s.free[name] / n
		}
	}
	return max(0, least)
}

// slots is how many pods of shape p would find room together, each node for itself.
func (f spaces) slots(p Shape) int64 {
	var sum int64
	for _, s := range f {
		if sum += s.slots(p.Requests); sum >= p.Count {
			return p.Count
		}
	}
	return sum
}

// left is how many devices of a's kinds are free here.
func (s *space) left(a Amounts) int64 {
	var sum int64
	for name := range a {
		sum += s.free[name]
	}
	return sum
}

// place puts pods, large ones first, where the least is left. It returns the first shape that finds no room.
func (f spaces) place(pods []Shape) *Shape {
	pods = slices.Clone(pods)
	slices.SortStableFunc(pods, func(a, b Shape) int { return cmp.Compare(b.size(), a.size()) })
	for _, p := range pods {
		for range p.Count {
			best := f.choose(p.Requests)
			if best == nil {
				return &p
			}
			best.take(p.Requests)
		}
	}
	return nil
}

func (s Shape) size() int64 {
	var sum int64
	for _, n := range s.Requests {
		sum += n
	}
	return sum
}

// choose returns the node with room for a that has the least left.
func (f spaces) choose(a Amounts) *space {
	var best *space
	for _, s := range f {
		if s.holds(a) && (best == nil || s.left(a) < best.left(a)) {
			best = s
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
	here := &Inventory{Nodes: slices.DeleteFunc(slices.Clone(inv.Nodes), func(n *Node) bool { return !n.matters(want.Requests) })}
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
			part += fmt.Sprintf("; %d of them are for runs that were let start", n)
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
