package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// allowed is the highest ratio of the medians.
const allowed = 1.15

// table prints values, medians, the verdict and where the time goes; false when bflow costs too much.
func table(out io.Writer, ours, minimal []*measured) bool {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "seconds\tbegin to end\tengine\tload\tcost\tminimal\t")
	for i := range ours {
		a, b := ours[i], minimal[i]
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", i+1, seconds(a.end.Sub(a.begin)), seconds(a.wait),
			seconds(a.load), seconds(a.cost()), seconds(b.cost()), doubts(a, b))
	}
	mine, theirs := of(ours, (*measured).cost), of(minimal, (*measured).cost)
	fmt.Fprintf(w, "median\t\t\t\t%s\t%s\t\n", seconds(mine), seconds(theirs))
	w.Flush()
	fmt.Fprintln(out)
	printBreakdown(out, ours, minimal)
	ratio := float64(mine) / float64(theirs)
	verdict := "pass"
	if ratio > allowed {
		verdict = "fail"
	}
	fmt.Fprintf(out, "\ncost of a run / minimal Pipeline: %.2f, at most %.2f: %s\n", ratio, allowed, verdict)
	return ratio <= allowed
}

func doubts(a, b *measured) string {
	if a.others+b.others > 0 {
		return "other runs were there"
	}
	return ""
}

// printBreakdown prints a row for each task and side: the medians of the times from mark to mark.
func printBreakdown(out io.Writer, ours, minimal []*measured) {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	names := spans()
	fmt.Fprintf(w, "task\t\t%s\tsum\tmore\t\n", strings.Join(names[:], "\t"))
	for _, task := range tasksOf(ours) {
		a, b := times(ours, task), times(minimal, task)
		printRow(w, task, "bflow", a, sum(a)-sum(b))
		printRow(w, "", "minimal", b, 0)
	}
	a, b := of(ours, (*measured).tail), of(minimal, (*measured).tail)
	fmt.Fprintf(w, "end\tbflow%s\t%s\t%s\t\n\tminimal%s\t%s\t\t\n", strings.Repeat("\t", int(marks)), seconds(a),
		signed(a-b), strings.Repeat("\t", int(marks)), seconds(b))
	w.Flush()
	fmt.Fprintln(out, "\nasked: since the task before was done; pod, node: made, placed; init: volumes, images, "+
		"Tekton's entrypoint; start: the first\n"+
		"container runs; steps: until the last has ended, less engine and load; done: until Tekton says so. "+
		"Medians, as received.")
}

func printRow(w io.Writer, task, side string, t [marks]time.Duration, more time.Duration) {
	fmt.Fprintf(w, "%s\t%s\t", task, side)
	for _, d := range t {
		fmt.Fprintf(w, "%s\t", seconds(d))
	}
	fmt.Fprintf(w, "%s\t", seconds(sum(t)))
	if side == "bflow" {
		fmt.Fprint(w, signed(more))
	}
	fmt.Fprintln(w, "\t")
}

func times(runs []*measured, task string) (t [marks]time.Duration) {
	for m := range marks {
		t[m] = of(runs, func(r *measured) time.Duration { return r.span(task, m) })
	}
	return t
}

func sum(t [marks]time.Duration) (d time.Duration) {
	for _, v := range t {
		d += v
	}
	return d
}

// tasksOf are the tasks of the first run, in their order.
func tasksOf(runs []*measured) (names []string) {
	for _, t := range runs[0].inOrder() {
		names = append(names, t.name)
	}
	return names
}

// of is the median of a time of the runs.
func of(runs []*measured, take func(*measured) time.Duration) time.Duration {
	var all []time.Duration
	for _, r := range runs {
		all = append(all, take(r))
	}
	return median(all)
}

func median(all []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) }

func signed(d time.Duration) string { return fmt.Sprintf("%+.2f", d.Seconds()) }
