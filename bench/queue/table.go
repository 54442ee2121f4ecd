package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Goals.
const (
	leastRate    = 0.5       // of the Jobs' admissions a second
	mostHandover = 2.0       // of the Jobs' p99
	mostMemory   = 500 << 20 // bytes of the controller
	mostCalls    = 60        // requests of the controller for one run, on the hub and on its target
)

// table prints both sides and the goals, and says whether all are met.
func table(out io.Writer, o options, jobs, runs figures) bool {
	fmt.Fprintf(out, "%d Jobs, then %d runs, over %d targets with room for %d each\n\n", o.count, o.count,
		o.targets, o.slots())
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tadmissions/s\tall in\tgiven back to next start: p50\tp99\tmost")
	for _, f := range []figures{jobs, runs} {
		fmt.Fprintf(w, "%s\t%.1f\t%s\t%s\t%s\t%s\n", f.name, f.rate, f.wall.Round(time.Second),
			ms(quantile(f.handover, 0.5)), ms(quantile(f.handover, 0.99)), ms(quantile(f.handover, 1)))
	}
	w.Flush()
	fmt.Fprintln(out)
	good := true
	goal := func(what string, got, want float64, unit string, met bool) {
		word := "met"
		if !met {
			word, good = "MISSED", false
		}
		fmt.Fprintf(out, "%-62s %8.2f%s (%.2f%s) %s\n", what, got, unit, want, unit, word)
	}
	rate := runs.rate / jobs.rate
	goal("admission rate, of the Jobs', at least", rate, leastRate, "", rate >= leastRate)
	handover := float64(quantile(runs.handover, 0.99)) / float64(max(1, quantile(jobs.handover, 0.99)))
	goal("p99 from a GPU given back to the next start, of the Jobs', at most", handover, mostHandover, "",
		handover <= mostHandover)
	memory := runs.controller.memory / (1 << 20)
	goal("memory of the controller, at most", memory, mostMemory/(1<<20), " MiB", runs.controller.memory <= mostMemory)
	calls := runs.controller.calls / float64(o.count)
	goal("requests of the controller for one run, at most", calls, mostCalls, "", calls <= mostCalls)
	if jobs.overTargets || runs.overTargets {
		fmt.Fprintln(out, "MISSED: more at once on a target than there is room for")
		good = false
	}
	return good
}

func ms(d time.Duration) string { return fmt.Sprintf("%.0f ms", float64(d)/float64(time.Millisecond)) }

// slots is how many runs a target holds at once.
func (o options) slots() int { return o.nodes * (o.gpus / o.demand) }
