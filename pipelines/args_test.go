package pipelines_test

import (
	"flag"
	"io"
	"slices"
	"strings"
	"testing"

	"bflow.dev/bflow/pipelines"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/collect"
	"bflow.dev/bflow/tasks/loadgen"
	"bflow.dev/bflow/tasks/mlflow"
	"bflow.dev/bflow/tasks/provision"
	"bflow.dev/bflow/tasks/provision/remotetask"
	"bflow.dev/bflow/tasks/smoketest"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// flagSets are those of the binaries, by binary and subcommand.
func flagSets() map[string]*flag.FlagSet {
	return map[string]*flag.FlagSet{
		"provision up":         provision.Flags("up", &provision.Options{}),
		"provision release":    provision.Flags("release", &provision.Options{}),
		"provision summary":    provision.Flags("summary", &provision.Options{}),
		"provision down":       provision.Flags("down", &provision.Options{}),
		"provision exec":       remotetask.Flags(&remotetask.Options{}),
		"smoketest":            smoketest.Flags(&smoketest.Options{}),
		"load-gen":             loadgen.Flags(&loadgen.Options{}),
		"collect":              collect.Flags(&collect.Options{}),
		"mlflow-push push":     mlflow.Flags("push", &mlflow.Options{}),
		"mlflow-push verdict":  mlflow.Flags("verdict", &mlflow.Options{}),
		"mlflow-push finalize": mlflow.Flags("finalize", &mlflow.Options{}),
	}
}

// own are the flags of a binary that a step leaves at their default.
var own = []string{"patience", "shard", "start-at", "on-invalid", "clock", "deadline", "patience", "room"}

// TestBinariesTakeTheArgsOfTheirSteps breaks where a flag is renamed on one side only.
func TestBinariesTakeTheArgsOfTheirSteps(t *testing.T) {
	images := map[string]string{}
	for _, binary := range contract.Binaries() {
		images[binary] = binary
	}
	tasks, err := pipelines.Tasks(pipelines.Release{Version: "v0.1.0", Images: images})
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		for _, step := range task.Spec.Steps {
			name, args := strings.TrimPrefix(step.Command[0], "/"), valued(step.Args)
			if !strings.HasPrefix(args[0], "-") {
				name, args = name+" "+args[0], args[1:]
			}
			t.Run(task.Name+": "+name, func(t *testing.T) {
				fs := flagSets()[name]
				if fs == nil {
					t.Fatalf("no binary takes %q", name)
				}
				fs.SetOutput(io.Discard)
				if i := slices.Index(args, "--"); i >= 0 { // the rest is for the task that runs away, beside the common ones
					there := flagSets()[step.Name]
					there.SetOutput(io.Discard)
					if err := there.Parse(args[i+1:]); err != nil || there.NArg() > 0 {
						t.Errorf("%s does not take %q: %v", step.Name, args[i+1:], err)
					}
					args = args[:i]
				}
				if err := fs.Parse(args); err != nil || fs.NArg() > 0 {
					t.Fatalf("parsing %q: %v, left over: %q", args, err, fs.Args())
				}
				given := map[string]bool{}
				fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
				fs.VisitAll(func(f *flag.Flag) {
					if f.Name == "secrets-dir" && !slices.ContainsFunc(task.Spec.Workspaces,
						func(w tektonv1.WorkspaceDeclaration) bool { return w.Name == contract.WorkspaceSecrets }) {
						return // it needs no value of a Secret
					}
					if strings.HasPrefix(f.Name, "api-key-") && !slices.ContainsFunc(task.Spec.Params,
						func(p tektonv1.ParamSpec) bool { return p.Name == contract.ParamAPIKeySecret }) {
						return // nor the key of the server under test
					}
					if !given[f.Name] && !slices.Contains(own, f.Name) {
						t.Errorf("the step does not give --%s", f.Name)
					}
				})
			})
		}
	}
}

// valued puts in for each variable a value that its flag takes.
func valued(args []string) []string {
	values := strings.NewReplacer(
		"$(params."+contract.ParamAttempt+")", "2",
		"$(params."+contract.ParamMeasurement+")", "3",
		"$(params."+contract.ParamLoadCPU+")", "500m",
		"$(params."+contract.ParamTeardownDeadline+")", "10m0s",
		"$(params."+contract.ParamFinalizeDeadline+")", "4m0s",
	)
	out := make([]string, len(args))
	for i, arg := range args {
		out[i] = values.Replace(arg)
	}
	return out
}
