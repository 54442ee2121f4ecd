package devices

import "slices"

// matters says whether a pod that asks for a could lie on the node on its best day. What happens to other nodes, be
// it that they are lost, is nothing to it.
func (n *Node) matters(a Amounts) bool { return n.Full().covers(n.withProducts(a)) }

// LostFor lists the nodes that take no pods and on which a pod of shapes could lie otherwise, as "gpu-3 (cordoned)".
func (inv *Inventory) LostFor(shapes ...Shape) []string {
	return inv.lostOf(func(n *Node) bool {
		return slices.ContainsFunc(shapes, func(s Shape) bool { return n.matters(s.Requests) })
	})
}

// rivals returns what of others may take from the places of pods of shapes: what could lie on a node that takes pods
// and that such a pod could have too. A run of another product is none, whatever becomes of the nodes of its own.
func (inv *Inventory) rivals(shapes, others []Shape) []Shape {
	var out []Shape
	for _, other := range others {
		if slices.ContainsFunc(shapes, func(s Shape) bool { return inv.compete(s.Requests, other.Requests) }) {
			out = append(out, other)
		}
	}
	return out
}

// Compete says whether pods of two runs may want the same device of a node that takes pods.
func (inv *Inventory) Compete(a, b []Shape) bool { return len(inv.rivals(a, b)) > 0 }

// compete says whether pods that ask for a and for b may want the same device.
func (inv *Inventory) compete(a, b Amounts) bool {
	return slices.ContainsFunc(inv.Nodes, func(n *Node) bool {
		return n.Lost == "" && n.withProducts(a).meets(n.withProducts(b)) && n.matters(a) && n.matters(b)
	})
}

// meets says whether a and b ask for some resource both.
func (a Amounts) meets(b Amounts) bool {
	for name, n := range a {
		if n > 0 && b[name] > 0 {
			return true
		}
	}
	return false
}
