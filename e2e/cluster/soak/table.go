package soak

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"
)

// Print writes a table of what was seen: runs, by how they ended, the longest waits, and the checks that were made; and
// of what was done, by what it was.
func (j *Judge) Print(w io.Writer, done map[Act]int) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	ends := map[string]int{}
	var start, release wait
	for _, l := range j.inOrder(func(l *life) bool { return l.isRun() }) {
		ends[l.outcome()]++
		if l.admitted != nil {
			start.longer(l.admitted.At.Sub(l.first.At), l)
		}
		if over := l.over(); l.admitted != nil && over != nil && l.endEvent() != nil {
			release.longer(over.At.Sub(l.endEvent().At), l)
		}
	}
	section(t, "runs", ends)
	marks := 0
	for _, entries := range j.dirty {
		marks += len(entries)
	}
	fmt.Fprintf(t, "releases that are marked\t%d\n", marks)
	fmt.Fprintf(t, "longest wait for a start\t%s\n", start)
	fmt.Fprintf(t, "longest release after an end\t%s\n", release)
	acts, faults := map[string]int{}, map[string]int{}
	for act, n := range done {
		if act.ofPeople() {
			acts[string(act)] = n
		} else {
			faults[string(act)] = n
		}
	}
	section(t, "acts of people", acts)
	section(t, "faults", faults)
	fmt.Fprintf(t, "checks\t%d, %d of them failed\n", j.checks, len(j.wrong))
	if err := t.Flush(); err != nil {
		return fmt.Errorf("printing the table: %w", err)
	}
	return nil
}

// section is a line with a sum, and below it one for each part.
func section(w io.Writer, name string, parts map[string]int) {
	sum := 0
	for _, n := range parts {
		sum += n
	}
	fmt.Fprintf(w, "%s\t%d\n", name, sum)
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		fmt.Fprintf(w, "  %s\t%d\n", part, parts[part])
	}
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

// outcome is how a run has ended, in a word or two.
func (l *life) outcome() string {
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

// endEvent is the event by which a run was over for Tekton.
func (l *life) endEvent() *Event {
	if l.done != nil && (l.deleting == nil || l.done.At.Before(l.deleting.At)) {
		return l.done
	}
	return l.deleting
}
