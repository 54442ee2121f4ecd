package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"bflow.dev/bflow/internal/ci/step"
)

// Names of steps that others wait for.
const (
	packages     = "packages"
	environments = "environments"
	programs     = "cluster programs"
	build        = "build"
	up           = "clusters up"
	bootstrap    = "clusters bootstrap"
	runs         = "clusters runs"
	rights       = "clusters rights"
	down         = "clusters down"
	unit         = "unit tests"
	race         = "race detector"
	lint         = "lint"
	verify       = "verify"
	newest       = "MLflow 3"
	oldest       = "MLflow 2"
	validity     = "validity"
	soak         = "soak"
)

// check is a step that runs a command.
type check struct {
	step.Step
	argv []string
}

// checks are the steps: clusters start while unit tests run, and what the clusters serve, which is mostly waited for,
// goes beside the rest of what takes a processor. What is slow to build comes first, and what changes most seldom
// before the rest, so that a run that is cut off leaves its caches to the next.
func checks(p place, c chosen) []check {
	racing := strings.Join(c.race(), " ")
	clusters, soaking := c.idle(rowClusters), c.idle(rowSoak)
	judging, noRace := c.idle(rowValidity), ""
	if racing == "" {
		noRace = "no package that it tests has changed"
	}
	return []check{
		{step.Step{Name: packages}, []string{".ci/install", "packages"}},
		{step.Step{Name: environments, Needs: []string{packages}}, []string{".ci/install", "environments"}},
		{step.Step{Name: programs, Needs: []string{packages}, Skip: clusters}, []string{".ci/cluster", "build"}},
		{step.Step{Name: build, Needs: []string{packages}, After: []string{programs}}, []string{"make", "build"}},

		{step.Step{Name: up, Needs: []string{programs, build, environments}, Skip: clusters}, []string{".ci/cluster", "up"}},

		{step.Step{Name: unit, Needs: []string{build, environments}}, []string{"make", "test", "WITHOUT=" + racing}},
		{step.Step{Name: race, Needs: []string{build, environments}, After: []string{unit}, Skip: noRace},
			[]string{"make", "race", "RACE=" + racing}},

		// Unit tests judge time here and there, so bootstrap waits for them, and the runs also for the race detector.
		{step.Step{Name: bootstrap, Needs: []string{up}, After: []string{unit}, Skip: clusters},
			[]string{".ci/cluster", "bootstrap"}},
		{step.Step{Name: runs, Needs: []string{bootstrap}, After: []string{race}, Skip: clusters},
			[]string{".ci/cluster", "runs"}},
		{step.Step{Name: rights, Needs: []string{runs}, Skip: clusters}, []string{".ci/cluster", "rights"}},
		{step.Step{Name: down, After: []string{rights}, Skip: clusters, Always: true}, []string{".ci/cluster", "down"}},

		{step.Step{Name: lint, Needs: []string{packages}, After: []string{race}}, []string{"make", "lint"}},
		{step.Step{Name: verify, Needs: []string{packages}, After: []string{lint}}, []string{"make", "verify"}},
		{step.Step{Name: newest, Needs: []string{build, environments}, After: []string{verify}, Skip: c.idle(newest)},
			onMLflow(p.cache, newest)},
		{step.Step{Name: oldest, Needs: []string{build, environments}, After: []string{newest}, Skip: c.idle(oldest)},
			onMLflow(p.cache, oldest)},
		// What goes on beside it makes more of its stages wrong, which is what it is about.
		{step.Step{Name: validity, Needs: []string{build}, After: []string{oldest}, Skip: judging},
			[]string{"make", "bench-validity", "VALIDITY=-stages 20 -check"}},
		// These two judge what a busy host would change.
		{step.Step{Name: soak, Needs: []string{build}, After: []string{validity, down}, Skip: soaking},
			[]string{"make", "soak", "SOAK=-requests 200000"}},
		{step.Step{Name: "demo", Needs: []string{build}, After: []string{soak}}, []string{".ci/demo"}},
	}
}

// onMLflow is the command of a step that is named by the version of MLflow.
func onMLflow(cache, name string) []string {
	environment := strings.ToLower(strings.ReplaceAll(name, " ", "-"))
	return []string{"make", "e2e-mlflow", "MLFLOW_PYTHON=" + filepath.Join(cache, environment, "bin/python")}
}

// proofs are the steps that have to pass for each row that is chosen.
func proofs(c chosen) map[string][]string {
	all := map[string][]string{rowClusters: {runs, rights}, newest: {newest}, oldest: {oldest},
		rowValidity: {validity}, rowSoak: {soak}}
	maps.DeleteFunc(all, func(row string, _ []string) bool { return c.idle(row) != "" })
	for _, pkg := range c.race() {
		all[pkg] = []string{race}
	}
	return all
}

// steps gives each check its environment. Every call of go test leaves its events for the table.
func steps(p place, c chosen, work string) (all []step.Step) {
	for _, k := range checks(p, c) {
		k.Run = step.Command([]string{
			"CI_CACHE=" + p.cache, "E2E_STATE=" + filepath.Join(work, "clusters"), fmt.Sprintf("E2E_OWNER=%d", os.Getpid()),
			"CI_EVENTS=" + filepath.Join(work, "events", strings.ReplaceAll(k.Name, " ", "-")),
			"GO_TEST=" + filepath.Join(p.root, ".ci/go-test"),
		}, k.argv[0], k.argv[1:]...)
		all = append(all, k.Step)
	}
	return all
}
