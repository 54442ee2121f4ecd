package images

import (
	"fmt"
	"slices"
	"strings"
)

// Binary is a program of ours that has an image. Its folder is cmd/NAME, in the image it is /NAME.
type Binary struct {
	Name  string
	About string // one sentence, shown by registries
}

// Binaries are all programs that have an image, sorted by name.
func Binaries() []Binary {
	return []Binary{
		{"bflow", "The command line of bflow: compiles experiments, submits runs, reads results."},
		{"bflow-controller",
			"Lets runs of bflow start when Kueue admits them, and gives their GPUs back when they are free."},
		{"collect", "Task of bflow: turns what was recorded into the report and judges it."},
		{"load-gen", "Task of bflow: puts the load of a measurement on a server and records every request."},
		{"mlflow-push", "Task of bflow: writes the results of a run to MLflow."},
		{"provision", "Task of bflow: deploys the server under test and removes it again."},
		{"sim-engine", "A simulated inference server with programmable timing."},
		{"smoketest", "Task of bflow: asks the server under test whether it is fit to be measured."},
	}
}

// choose returns the binaries named in only, all of them when it is empty.
func choose(only []string) ([]Binary, error) {
	all := Binaries()
	var names []string
	for _, b := range all {
		names = append(names, b.Name)
	}
	for _, name := range only {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("choosing images: there is no %q; there are %s", name, strings.Join(names, ", "))
		}
	}
	if len(only) == 0 {
		return all, nil
	}
	return slices.DeleteFunc(all, func(b Binary) bool { return !slices.Contains(only, b.Name) }), nil
}
