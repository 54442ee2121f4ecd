package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"bflow.dev/bflow/internal/ci/choose"
	"bflow.dev/bflow/internal/ci/green"
)

// Rows that are chosen by change, beside one for each package under the race detector.
const (
	rowMLflow   = "MLflow"
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
		{Name: rowMLflow, Tests: m.Packages("e2e/mlflow"), Programs: programs},
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
	choices []choose.Choice
	since   string // what was compared with
}

// choice reads the record of the last green commit and judges every row. It also returns the record of now.
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
	files, err := green.Changed(ctx, p.root, last.Commit)
	if err != nil {
		return now, c, err
	}
	return now, chosen{m.Choose(rows(m), files), fmt.Sprintf("%s, %d files differ", last.Commit[:12], len(files))}, nil
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
