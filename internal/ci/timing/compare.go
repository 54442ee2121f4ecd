package timing

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"
)

// Compare prints two reports side by side: seconds and ratio of each step, the tests whose time differs most, and the
// names that only one of them has.
func Compare(out io.Writer, before, after Report) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "step\tbefore\tafter\tratio\t\n")
	was, is := steps(before), steps(after)
	for _, name := range union(was, is) {
		line(w, name, was, is)
	}
	line(w, "all", map[string]time.Duration{"all": before.Took}, map[string]time.Duration{"all": after.Took})
	fmt.Fprintf(w, "load before the first step\t%.1f\t%.1f\t\t\n\t\t\t\t\n", before.Load, after.Load)

	took, takes := tests(before), tests(after)
	fmt.Fprintf(w, "tests that changed most\tbefore\tafter\tratio\t\n")
	changed := union(took, takes)
	slices.SortStableFunc(changed, func(a, b string) int {
		return cmp.Compare((takes[b] - took[b]).Abs(), (takes[a] - took[a]).Abs())
	})
	for _, name := range changed[:min(20, len(changed))] {
		line(w, name, took, takes)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return names(out, before, after)
}

func line(w io.Writer, name string, was, is map[string]time.Duration) {
	a, had := was[name]
	b, has := is[name]
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t\n", name, seconds(a, had), seconds(b, has), ratio(a, b))
}

func seconds(d time.Duration, ok bool) string {
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%.1f", d.Seconds())
}

func ratio(a, b time.Duration) string {
	if a <= 0 || b <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", b.Seconds()/a.Seconds())
}

// names prints how many tests and rows each report has, and those that are gone or new.
func names(out io.Writer, before, after Report) error {
	was, is := all(before), all(after)
	if _, err := fmt.Fprintf(out, "\ntests and rows: %d before, %d after\n", len(was), len(is)); err != nil {
		return err
	}
	for _, name := range union(was, is) {
		if was[name] == is[name] {
			continue
		}
		word := map[bool]string{true: "gone", false: "new"}[was[name]]
		if _, err := fmt.Fprintf(out, "%s: %s\n", word, name); err != nil {
			return err
		}
	}
	return nil
}

func steps(r Report) map[string]time.Duration {
	m := map[string]time.Duration{}
	for _, s := range r.Steps {
		m[s.Name] = s.Took
	}
	return m
}

// tests are the times of whole tests, the longest of each.
func tests(r Report) map[string]time.Duration {
	m := map[string]time.Duration{}
	for _, t := range r.Tests {
		if !t.isRow() {
			m[t.title()] = max(m[t.title()], t.Took)
		}
	}
	return m
}

func all(r Report) map[string]bool {
	m := map[string]bool{}
	for _, t := range r.Tests {
		m[t.title()] = true
	}
	return m
}

func union[V any](a, b map[string]V) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}
