package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// noise is the difference that two runs of the same program may have.
const noise = 0.05

// behindWord begins the verdict of a line on which another tool is ahead; its name follows.
const behindWord = "BEHIND"

// table prints the comparison and returns on how many lines another tool is ahead.
func table(out io.Writer, clients []client, cells map[string]map[string]*cell, skipped map[string]string) (ahead int) {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprint(w, "goal\tfigure\tunit")
	for i, c := range clients {
		fmt.Fprintf(w, "\t%s", c.name())
		if i > 0 {
			fmt.Fprint(w, "\tratio")
		}
	}
	fmt.Fprintln(w, "\t")
	for _, f := range figures() {
		if cells[f.load] == nil {
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s", f.goal, f.name, f.unit)
		word := "even"
		mine, have := f.take(cells[f.load][clients[0].name()])
		fmt.Fprintf(w, "\t%s", f.show(mine, have))
		for _, c := range clients[1:] {
			theirs, has := f.take(cells[f.load][c.name()])
			ratio, behind := f.judge(mine, have, theirs, has)
			if behind {
				if !strings.HasPrefix(word, behindWord) {
					word = behindWord
					ahead++
				}
				word += " " + c.name()
			} else if _, before := f.judge(theirs, has, mine, have); before && word == "even" {
				word = "ahead"
			}
			fmt.Fprintf(w, "\t%s\t%s", f.show(theirs, has), ratio)
		}
		fmt.Fprintf(w, "\t%s\n", word)
	}
	w.Flush()
	remarks(out, cells, skipped)
	if ahead > 0 {
		fmt.Fprintf(out, "\nanother tool is ahead on %d lines\n", ahead)
	}
	return ahead
}

// take returns the figure of a cell; false where it does not exist.
func (f figure) take(c *cell) (float64, bool) {
	if c == nil || c.err != nil {
		return 0, false
	}
	v, ok := f.of(c)
	return v, ok && !math.IsNaN(v) && !math.IsInf(v, 0)
}

func (f figure) show(v float64, ok bool) string {
	switch {
	case !ok:
		return "-"
	case f.better == yes && v > 0:
		return "yes"
	case f.better == yes:
		return "no"
	case math.Abs(v) >= 1000:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// judge returns how many times better the first figure is, and whether the second is ahead. What a tool does not say
// cannot be ahead; what we do not say is behind.
func (f figure) judge(mine float64, have bool, theirs float64, has bool) (ratio string, behind bool) {
	switch {
	case !has:
		return "-", !have
	case !have:
		return "-", true
	case f.better == yes:
		return "", theirs > mine
	}
	good, bad := mine, theirs
	if f.better == less {
		good, bad = max(theirs, f.fair), max(mine, f.fair)
	}
	if bad == 0 {
		if good == 0 {
			return "even", false
		}
		return "inf", false
	}
	r := good / bad
	return strconv.FormatFloat(r, 'g', 3, 64) + "x", r < 1-noise
}

// remarks say what of the table must be doubted, and what is missing.
func remarks(out io.Writer, cells map[string]map[string]*cell, skipped map[string]string) {
	for _, name := range slices.Sorted(keys(skipped)) {
		fmt.Fprintf(out, "\n%s was skipped: %s\n", name, skipped[name])
	}
	var disturbed, late []string
	for _, load := range slices.Sorted(keys(cells)) {
		for _, name := range slices.Sorted(keys(cells[load])) {
			c := cells[load][name]
			if c.err != nil {
				fmt.Fprintf(out, "\n%s, %s: %v\n", load, name, c.err)
				continue
			}
			if c.disturbed {
				disturbed = append(disturbed, load+" "+name)
			}
			if c.late > maxLateness {
				late = append(late, fmt.Sprintf("%s %s (%s)", load, name, c.late))
			}
		}
	}
	doubt(out, "others used the cores during", disturbed)
	doubt(out, "the engine itself was late (p99) during", late)
}

// maxLateness is the p99 of the engine's own lateness above which times are not to be trusted to the last digit.
const maxLateness = 100 * time.Microsecond

func doubt(out io.Writer, what string, runs []string) {
	if len(runs) > 0 {
		fmt.Fprintf(out, "\n%s: %s\n", what, strings.Join(runs, ", "))
	}
}

func keys[V any](m map[string]V) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}
