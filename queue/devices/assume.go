package devices

// assume puts pods where they take most from pods of shape want: nobody knows where the scheduler will put them, and a
// node is not told before. It returns false where not all find a node.
func (f spaces) assume(pods []Shape, want Amounts) bool {
	for _, p := range pods {
		if !f.harm(p, want) {
			return false
		}
	}
	return true
}

// harm spreads the pods of one shape over the nodes such that the most places for pods of shape want are lost: the best
// sum over all nodes of what k pods cost there, where the k add up (a knapsack, exact).
func (f spaces) harm(p Shape, want Amounts) bool {
	const impossible = -1
	if f.slots(p) < p.Count {
		return false // whatever number a run names: what follows takes memory for each pod
	}
	best := make([]int64, p.Count+1) // places lost by so many pods on the nodes seen
	for i := range best[1:] {
		best[i+1] = impossible
	}
	chosen := make([][]int64, len(f)) // pods on node i, by pods on the nodes up to i
	for i, s := range f {
		costs := s.costs(p, want)
		next := make([]int64, len(best))
		chosen[i] = make([]int64, len(best))
		for n := range next {
			next[n] = impossible
			for k := 0; k < len(costs) && k <= n; k++ {
				if before := best[n-k]; before != impossible && before+costs[k] > next[n] {
					next[n], chosen[i][n] = before+costs[k], int64(k)
				}
			}
		}
		best = next
	}
	if best[p.Count] == impossible {
		return false
	}
	for i, n := len(f)-1, p.Count; i >= 0; i-- {
		k := chosen[i][n]
		for range k {
			f[i].take(p.Requests)
		}
		n -= k
	}
	return true
}

// costs are the places for pods of shape want that are lost here to 0, 1, 2 ... pods of shape p, as many as fit.
func (s *space) costs(p Shape, want Amounts) []int64 {
	places := s.slots(want)
	costs := []int64{0}
	after := &space{node: s.node, free: s.free}
	for range min(p.Count, s.slots(p.Requests)) {
		after.take(p.Requests)
		costs = append(costs, places-after.slots(want))
	}
	return costs
}
