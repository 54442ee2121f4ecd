package main

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"
)

// tally counts how scenes of a kind were judged.
type tally struct{ wrong, found, right, blamed, between, void int }

func (t *tally) add(r *result) {
	switch {
	case r.Void != "":
		t.void++
	case r.wrong():
		t.wrong++
		if r.Flagged {
			t.found++
		}
	case r.right():
		t.right++
		if r.Flagged {
			t.blamed++
		}
	default:
		t.between++
	}
}

// Goals, as shares.
const (
	goalFound  = 0.98
	goalBlamed = 0.02
	goalWrong  = 100
	goalStages = 300
)

// met says whether the goals are, as shares of what was seen; of few stages where check is set, whether what was seen
// is likely where they are.
func (t *tally) met(check bool) bool {
	missed := t.wrong - t.found
	if check {
		return likely(t.wrong, missed, 1-goalFound) && likely(t.right, t.blamed, goalBlamed)
	}
	return float64(t.found) >= goalFound*float64(t.wrong) && float64(t.blamed) <= goalBlamed*float64(t.right)
}

// unlikely is what happens by chance in one check of a thousand.
const unlikely = 0.001

// likely says whether k or more of n are no wonder where each is one with probability p: the upper tail of the binomial
// distribution.
func likely(n, k int, p float64) bool {
	tail, term := 0.0, math.Pow(1-p, float64(n)) // of none
	for i := range n + 1 {
		if i >= k {
			tail += term
		}
		term *= float64(n-i) / float64(i+1) * p / (1 - p)
	}
	return tail >= unlikely
}

// print writes the table and returns the sums.
func print(w io.Writer, seed uint64, results []result) tally {
	var all tally
	by := map[string]*tally{}
	var names []string
	for i := range results {
		r := &results[i]
		all.add(r)
		for _, busy := range []string{"idle", "busy"} {
			name := r.Scene.Clock + ", " + busy
			if by[name] == nil && (busy == "busy") == (r.Scene.Busy > 0) {
				by[name] = &tally{}
				names = append(names, name)
			}
			if (busy == "busy") == (r.Scene.Busy > 0) {
				by[name].add(r)
			}
		}
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "stages\twrong\tof them flagged\tright\tof them flagged\tbetween\tvoid\t\n")
	for _, name := range names {
		by[name].printRow(t, name)
	}
	all.printRow(t, "all")
	_ = t.Flush()
	for i := range results {
		r := &results[i]
		switch {
		case r.Void != "":
			fmt.Fprintf(w, "void: %s: %s\n", r.Scene, r.Void)
		case r.wrong() && !r.Flagged:
			fmt.Fprintf(w, "missed: %s: %v, load off by %.2f %%\n", r.Scene, r.Numbers, 100*r.Off)
		case r.right() && r.Flagged:
			fmt.Fprintf(w, "blamed: %s: %s\n", r.Scene, r.Why)
		}
	}
	fmt.Fprintf(w, "seed %d: %d stages; flagged are %s of those that are wrong (goal %.0f %%), %s of those that are "+
		"right (goal at most %.0f %%)\n",
		seed, len(results), share(all.found, all.wrong), 100*goalFound, share(all.blamed, all.right), 100*goalBlamed)
	return all
}

func (t *tally) printRow(w io.Writer, name string) {
	fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t\n", name, t.wrong, t.found, t.right, t.blamed, t.between, t.void)
}

func share(n, of int) string {
	if of == 0 {
		return "none"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(of))
}
