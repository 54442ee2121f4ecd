// Package fence holds no code: its tests keep light packages from importing heavy ones, and see that packages which
// start goroutines check for leaks.
package fence

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "bflow.dev/bflow/"

var (
	tekton    = []string{"github.com/tektoncd/", "knative.dev/"}
	kueue     = []string{"sigs.k8s.io/kueue"}
	kustomize = []string{"sigs.k8s.io/kustomize/"}
	clientgo  = []string{"k8s.io/client-go"}
	generator = []string{module + "generator"}
	heavy     = slices.Concat(tekton, kueue, kustomize)
)

// foundations are the folders of what steps and the programs that start them share.
var foundations = []string{
	"internal/durable", "internal/problem", "internal/scalar", "load", "report", "results", "runplan", "verdict",
}

// A rule says what the closure of a package must not hold. A pattern that ends in "/..." stands for the folder.
type rule struct {
	name    string
	pattern string
	except  []string // packages that another row judges
	banned  []string
}

var rules = []rule{
	{"tasks know neither Tekton nor Kueue nor kustomize nor the generator", "./tasks/...", nil,
		slices.Concat(heavy, generator, []string{module + "pipelines"})},
	{"of the tasks only provision may use client-go", "./tasks/...",
		[]string{"tasks/provision", "tasks/provision/cluster", "tasks/provision/remotetask"}, clientgo},
	{"load-gen is small", "./cmd/load-gen", nil,
		slices.Concat(heavy, clientgo, generator, []string{"k8s.io/", module + "platform"})},
	{"platforms are data and pure functions", "./platform/...", nil, slices.Concat(heavy, clientgo, generator, []string{
		module + "pipelines", module + "tasks", module + "queue", module + "bootstrap", module + "runs", module + "cmd",
		"sigs.k8s.io/controller-runtime",
	})},
	{"the simulated engine is light", "./sim/...", nil, slices.Concat(heavy, clientgo, generator)},
	{"only the compile package of the generator knows Tekton", "./generator/...", []string{"generator/compile"},
		slices.Concat(heavy, clientgo)},
	{"the compiler knows neither Kueue nor client-go", "./generator/compile", nil, slices.Concat(kueue, kustomize)},
	{"images know nothing of Kubernetes", "./images/...", nil,
		slices.Concat(heavy, []string{"k8s.io/", module + "pipelines", module + "generator"})},
	{"the lock of images opens no socket", "./images/lock", nil,
		[]string{"net/http", "github.com/google/go-containerregistry"}},
	{"the compiler refers to a bundle without opening it", "./generator/compile", nil,
		[]string{"github.com/google/go-containerregistry"}},
	{"the arithmetic of devices knows no cluster", "./queue/devices", nil,
		slices.Concat(heavy, clientgo, []string{"sigs.k8s.io/controller-runtime"})},
	{"the queue knows the compiler by an interface alone", "./queue/...", nil, generator},
	{"what became of a matrix is arithmetic", "./queue/matrix/state", nil,
		slices.Concat(heavy, clientgo, generator, []string{"k8s.io/", "sigs.k8s.io/"})},
	{"what is shipped has nothing of its tests", "./cmd/...", nil,
		[]string{module + "internal/eventually", module + "internal/quiet", module + "internal/apitest",
			module + "queue/queuetest", module + "bootstrap/detect/detecttest",
			module + "load/tool/tooltest"}},
	{"pipelines do not know the experiment file", "./pipelines/...", nil,
		[]string{module + "generator/spec", module + "generator/plan"}},
}

func TestImportRules(t *testing.T) {
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) { judge(t, rule) })
	}
}

// TestFoundationsAreLight: what steps share is linked into each of their images.
func TestFoundationsAreLight(t *testing.T) {
	for _, folder := range foundations {
		t.Run(folder, func(t *testing.T) {
			judge(t, rule{pattern: "./" + folder + "/...", banned: slices.Concat(heavy, clientgo, generator, []string{
				module + "pipelines", module + "cmd", module + "queue", module + "bootstrap", module + "runs",
			})})
		})
	}
}

// TestTheCommandLineCallsLibraries: what the command line knows of clusters it has from packages of ours, whose own
// imports are theirs.
func TestTheCommandLineCallsLibraries(t *testing.T) {
	for _, dep := range list(t, "{{range .Imports}}{{.}}\n{{end}}", "./cmd/bflow/...") {
		if banned(dep, slices.Concat(tekton, kueue, []string{"k8s.io/", "sigs.k8s.io/controller-runtime"})) {
			t.Errorf("the command line must not import %s: call a package in runs or bootstrap", dep)
		}
	}
}

func judge(t *testing.T, rule rule) {
	t.Helper()
	const deps = "{{if .GoFiles}}{{.ImportPath}}={{range .Deps}} {{$.ImportPath}}={{.}}{{end}}{{end}}"
	used := map[string]bool{}
	for _, found := range list(t, deps, rule.pattern) {
		pkg, dep, _ := strings.Cut(found, "=")
		folder := strings.TrimPrefix(pkg, module)
		if !banned(dep, rule.banned) {
			continue
		}
		if used[folder] = true; !slices.Contains(rule.except, folder) {
			t.Errorf("%s must not import %s", pkg, dep)
		}
	}
	for _, folder := range rule.except {
		if !used[folder] {
			t.Errorf("%s is excepted and imports nothing of the kind: take it out", folder)
		}
	}
}

// TestSiblingTasksAreStrangers: what two tasks share lies in a package of its own.
func TestSiblingTasksAreStrangers(t *testing.T) {
	tasks := []string{"provision", "smoketest", "loadgen", "collect", "mlflow"}
	for _, task := range tasks {
		for _, dep := range list(t, "{{range .Imports}}{{.}}\n{{end}}", "./tasks/"+task+"/...") {
			for _, other := range tasks {
				if other != task && strings.HasPrefix(dep, module+"tasks/"+other) {
					t.Errorf("task %s must not import its sibling %s", task, dep)
				}
			}
		}
	}
}

func banned(dep string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(dep, p) })
}

func list(t *testing.T, format, pattern string) []string {
	t.Helper()
	cmd := exec.Command("go", "list", "-f", format, pattern)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("listing %s: %v", pattern, err)
	}
	return strings.Fields(string(out))
}
