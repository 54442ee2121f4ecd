package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"

	"bflow.dev/bflow/internal/ci/choose"
	"bflow.dev/bflow/internal/ci/green"
)

// Rows that are chosen by change, beside one for each version of MLflow and one for each package under the race
// detector.
const (
	rowSoak     = "soak"
	rowValidity = "validity"
	rowClusters = "clusters"
)

// concurrent are the folders whose packages are tested under the race detector, in this order: what waits longest
// begins first, and the others go on beside it.
func concurrent() []string {
	return []string{
		"cmd/bflow", "pipelines/local", "sim", "tasks", "internal/durable", "internal/kube", "internal/problem", "load",
		"report", "results", "runplan", "verdict", "runs",
	}
}

// printConcurrent prints them as patterns of packages, which is what make race tests.
func printConcurrent(out io.Writer) error {
	for _, folder := range concurrent() {
		fmt.Fprintf(out, "./%s/...\n", folder)
	}
	return nil
}

// rows are what is chosen by change. What lies in cmd is what `make build` builds: the tests on real components start
// these programs, or images of them.
func rows(m *choose.Module) []choose.Row {
	programs := m.Mains("cmd")
	all := []choose.Row{
		{Name: newest, Tests: m.Packages("e2e/mlflow"), Programs: programs},
		{Name: oldest, Tests: m.Packages("e2e/mlflow"), Programs: programs},
		{Name: rowSoak, Programs: m.Mains("bench/soak")},
		{Name: rowValidity, Programs: m.Mains("bench/validity")},
		{Name: rowClusters, Tests: m.Packages("e2e/cluster"), Programs: programs},
	}
	for _, folder := range concurrent() {
		for _, pkg := range m.Packages(folder) {
			all = append(all, choose.Row{Name: pkg, Tests: []string{pkg}})
		}
	}
	return all
}

// chosen is which rows run, and why.
type chosen struct {
	choices []choose.Choice // in the order of rows
	since   string          // what was compared with
}

// choice reads the record of green rows and judges every row. It also returns the record of now, with them.
func choice(ctx context.Context, p place) (now green.Record, c chosen, err error) {
	m, err := choose.Load(ctx, p.root, "e2e")
	if err != nil {
		return now, c, err
	}
	beside, err := green.Digest(p.root + "/../shared")
	if err != nil {
		return now, c, err
	}
	now = green.Record{Beside: beside, Go: runtime.Version()}
	if os.Getenv("CI_FULL") != "" {
		return now, chosen{choose.Everything(rows(m), "CI_FULL is set"), "nothing"}, nil
	}
	last, err := green.Read(ctx, p.green, p.root, now)
	if unknown := (green.UnknownError{}); errors.As(err, &unknown) {
		return now, chosen{choose.Everything(rows(m), unknown.Why), "nothing"}, nil
	}
	if err != nil {
		return now, c, err
	}
	now.Rows = last.Rows
	c, err = compared(ctx, p, m, last.Rows)
	return now, c, err
}

// compared judges each row by what has changed since it was green.
func compared(ctx context.Context, p place, m *choose.Module, since map[string]string) (c chosen, err error) {
	of := map[string][]choose.Row{}
	for _, row := range rows(m) {
		of[since[row.Name]] = append(of[since[row.Name]], row)
	}
	judged := map[string]choose.Choice{}
	var told []string
	for _, commit := range slices.Sorted(maps.Keys(of)) {
		choices := choose.Everything(of[commit], "no commit is remembered at which it passed")
		if commit != "" {
			files, err := green.Changed(ctx, p.root, commit)
			if err != nil {
				return c, err
			}
			choices = m.Choose(of[commit], files)
			told = append(told, fmt.Sprintf("%s, %d files differ", commit[:12], len(files)))
		}
		for _, choice := range choices {
			judged[choice.Name] = choice
		}
	}
	for _, row := range rows(m) {
		c.choices = append(c.choices, judged[row.Name])
	}
	c.since = cmp.Or(strings.Join(told, "; "), "nothing")
	return c, nil
}

// idle says why a row does not run, "" for one that does.
func (c chosen) idle(row string) string {
	if slices.ContainsFunc(c.choices, func(x choose.Choice) bool { return x.Name == row && x.Because != "" }) {
		return ""
	}
	return "nothing that it uses has changed"
}

// race are the packages that run under the race detector.
func (c chosen) race() (packages []string) {
	for _, x := range c.choices {
		if x.Because != "" && len(x.Programs) == 0 {
			packages = append(packages, x.Name)
		}
	}
	return packages
}

// print lists what runs, by its reason, and what does not.
func (c chosen) print(out io.Writer) error {
	var reasons, idle []string
	by := map[string][]string{}
	for _, x := range c.choices {
		name := x.Name
		if len(x.Programs) == 0 {
			name = "race " + strings.TrimPrefix(name, "bflow.dev/bflow/")
		}
		if x.Because == "" {
			idle = append(idle, name)
			continue
		}
		if by[x.Because] == nil {
			reasons = append(reasons, x.Because)
		}
		by[x.Because] = append(by[x.Because], name)
	}
	fmt.Fprintf(out, "compared with %s\n", c.since)
	for _, why := range reasons {
		fmt.Fprintf(out, "chosen, because %s: %s\n", why, strings.Join(by[why], ", "))
	}
	if len(idle) > 0 {
		fmt.Fprintf(out, "not chosen, because nothing that they use has changed since: %s\n", strings.Join(idle, ", "))
	}
	return nil
}
