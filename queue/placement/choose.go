package placement

import (
	"cmp"
	"fmt"
	"slices"
)

// Place is one target that a run may go to, as it looks to that run.
type Place struct {
	Name    string
	Unfit   string // why the run cannot go there now, in half a sentence; "" where it can
	Warm    bool   // a run that needs the same was there not long ago
	Free    bool   // its devices are free now
	Waiting int    // runs in its queue that would be before it
	Wish    int    // its rank among the names that the run gives
}

// Choice is where a run goes, and why.
type Choice struct {
	Name string
	Why  string
}

// Choose returns where a run goes that is in the queue of current; the same where it stays. chosen says that it was put
// there, and did not only name it first.
func Choose(current string, chosen bool, places []Place) Choice {
	var fit []Place
	for _, p := range places {
		if p.Unfit == "" {
			fit = append(fit, p)
		}
	}
	if len(fit) == 0 {
		return Choice{Name: current}
	}
	slices.SortStableFunc(fit, better)
	best := fit[0]
	i := slices.IndexFunc(places, func(p Place) bool { return p.Name == current })
	switch {
	case !chosen || i < 0:
		return Choice{best.Name, why(best)}
	case places[i].Unfit != "":
		return Choice{best.Name, fmt.Sprintf("%s; target %q %s", why(best), current, places[i].Unfit)}
	case places[i].Free && places[i].Waiting == 0:
		return Choice{Name: current}
	}
	if idle := slices.IndexFunc(fit, func(p Place) bool { return p.Free && p.Waiting == 0 }); idle >= 0 {
		return Choice{fit[idle].Name, fmt.Sprintf("its devices are free, and at target %q it waits", current)}
	}
	return Choice{Name: current}
}

// better orders places: a warm one first, then by who waits, then by what is free, then as the run names them.
func better(a, b Place) int {
	return cmp.Or(rank(b.Warm)-rank(a.Warm), cmp.Compare(a.Waiting, b.Waiting), rank(b.Free)-rank(a.Free),
		cmp.Compare(a.Wish, b.Wish), cmp.Compare(a.Name, b.Name))
}

func rank(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func why(p Place) string {
	switch {
	case p.Warm:
		return "it has the weights and images of the run"
	case p.Waiting == 0 && p.Free:
		return "its devices are free"
	case p.Waiting == 0:
		return "nobody waits there"
	}
	return fmt.Sprintf("the fewest wait there: %d", p.Waiting)
}
