package soak

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"
)

// Print writes a table of what was seen: runs, by how they ended, the longest waits, and the checks that were made. Faults
// are those that happened, by what they were.
func (j *Judge) Print(w io.Writer, faults map[Act]int) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	ends, runs := map[string]int{}, 0
	var start, release wait
	for _, l := range j.inOrder(func(l *life) bool { return l.isRun() }) {
		runs++
		ends[l.end()]++
		if l.admitted != nil {
			start.longer(l.admitted.At.Sub(l.first.At), l)
		}
		if over := l.over(); l.admitted != nil && over != nil && l.ended() != nil {
			release.longer(over.At.Sub(l.ended().At), l)
		}
	}
	fmt.Fprintf(t, "runs\t%d\n", runs)
	for _, end := range slices.Sorted(maps.Keys(ends)) {
		fmt.Fprintf(t, "  %s\t%d\n", end, ends[end])
	}
	marks := 0
	for _, entries := range j.dirty {
		marks += len(entries)
	}
	fmt.Fprintf(t, "releases that are marked\t%d\n", marks)
	fmt.Fprintf(t, "longest wait for a start\t%s\n", start)
	fmt.Fprintf(t, "longest release after an end\t%s\n", release)
	sum := 0
	for _, n := range faults {
		sum += n
	}
	fmt.Fprintf(t, "faults\t%d\n", sum)
	for _, act := range slices.Sorted(maps.Keys(faults)) {
		fmt.Fprintf(t, "  %s\t%d\n", act, faults[act])
	}
	fmt.Fprintf(t, "checks\t%d, %d of them failed\n", j.checks, len(j.wrong))
	if err := t.Flush(); err != nil {
		return fmt.Errorf("printing the table: %w", err)
	}
	return nil
}

// wait is the longest of some waits, and whose it was.
type wait struct {
	time.Duration
	whose string
}

func (w *wait) longer(d time.Duration, l *life) {
	if d >= w.Duration {
		w.Duration, w.whose = d, l.of()
	}
}

func (w wait) String() string {
	if w.whose == "" {
		return "none"
	}
	return fmt.Sprintf("%s (%s)", w.Round(time.Second), w.whose)
}

// end is how a run has ended, in a word or two.
func (l *life) end() string {
	switch {
	case l.done != nil && l.admitted == nil:
		return "ended in the queue"
	case l.done != nil:
		return l.Done
	case l.gone != nil && l.admitted == nil:
		return "deleted in the queue"
	case l.gone != nil:
		return "deleted while it ran"
	}
	return "open"
}

// ended is the event by which a run was over for Tekton.
func (l *life) ended() *Event {
	if l.done != nil && (l.deleting == nil || l.done.At.Before(l.deleting.At)) {
		return l.done
	}
	return l.deleting
}

// Count is how many runs were told of on a target, "" meaning those that were let start nowhere.
func (j *Judge) Count(target string) int {
	return len(j.inOrder(func(l *life) bool { return l.isRun() && l.target() == target }))
}
