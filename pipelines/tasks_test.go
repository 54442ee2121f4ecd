package pipelines

import (
	"slices"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
)

// makeTasks are those of a release whose images are named like the binaries.
func makeTasks(t *testing.T) []*tektonv1.Task {
	t.Helper()
	images := map[string]string{}
	for _, binary := range contract.Binaries() {
		images[binary] = "reg.example/bflow/" + binary + ":v0.1.0"
	}
	tasks, err := Tasks(Release{Version: "v0.1.0", Images: images})
	if err != nil {
		t.Fatal(err)
	}
	return tasks
}

func TestStepsNeedNeitherShellNorRegistry(t *testing.T) {
	for _, task := range makeTasks(t) {
		for _, step := range task.Spec.Steps {
			binary := strings.TrimPrefix(strings.Join(step.Command, " "), "/")
			switch {
			case !slices.Contains(contract.Binaries(), binary):
				t.Errorf("%s: step %s runs %q, which is no binary of ours", task.Name, step.Name, step.Command)
			case step.Script != "":
				t.Errorf("%s: step %s is a script", task.Name, step.Name)
			case !strings.Contains(step.Image, "/"+binary+":"):
				t.Errorf("%s: step %s runs %s of image %s", task.Name, step.Name, binary, step.Image)
			case step.Timeout != nil:
				t.Errorf("%s: step %s has a timeout, which would skip the steps after it", task.Name, step.Name)
			case len(step.ComputeResources.Requests) != 2 || len(step.ComputeResources.Limits) != 2:
				t.Errorf("%s: step %s does not name cpu and memory twice", task.Name, step.Name)
			}
		}
	}
}

func TestEverythingIsDescribed(t *testing.T) {
	for _, task := range makeTasks(t) {
		described := map[string]string{"task": task.Spec.Description}
		for _, p := range task.Spec.Params {
			described["param "+p.Name] = p.Description
		}
		for _, r := range task.Spec.Results {
			described["result "+r.Name] = r.Description
		}
		for _, w := range task.Spec.Workspaces {
			described["workspace "+w.Name] = w.Description
		}
		for what, text := range described {
			if text == "" {
				t.Errorf("%s: %s has no description", task.Name, what)
			}
		}
	}
}

func TestCredentialsComeFromSecretsOnly(t *testing.T) {
	for _, task := range makeTasks(t) {
		if env := task.Spec.StepTemplate.Env; len(env) != 1 || env[0].Name != "HOME" {
			t.Errorf("%s: all steps have %v", task.Name, env)
		}
		for _, step := range task.Spec.Steps {
			for _, env := range step.Env {
				switch from := env.ValueFrom; {
				case env.Name == contract.EnvSimImage:
				case from == nil:
					t.Errorf("%s: variable %s is written down", task.Name, env.Name)
				case from.FieldRef != nil || from.ConfigMapKeyRef != nil && *from.ConfigMapKeyRef.Optional:
				case from.SecretKeyRef == nil || !*from.SecretKeyRef.Optional:
					t.Errorf("%s: variable %s does not come from an optional Secret", task.Name, env.Name)
				}
			}
		}
	}
}

// TestTheKeyOfTheServerGoesToWhoAsksIt, and to nobody else: what a task does not have it cannot give away.
func TestTheKeyOfTheServerGoesToWhoAsksIt(t *testing.T) {
	asks := []string{
		contract.Provision, contract.Smoketest, contract.LoadGen, contract.Release,
		RemoteTask(contract.Smoketest), RemoteTask(contract.LoadGen),
	}
	for _, task := range makeTasks(t) {
		want := slices.Contains(asks, task.Name)
		named := slices.ContainsFunc(task.Spec.Params, func(p tektonv1.ParamSpec) bool {
			return p.Name == contract.ParamAPIKeySecret
		})
		given := false
		for _, step := range task.Spec.Steps {
			given = given || slices.ContainsFunc(step.Env, func(e corev1.EnvVar) bool { return e.Name == contract.EnvAPIKey })
		}
		if named != want || given != want {
			t.Errorf("%s: its key is named %v and given %v, want %v", task.Name, named, given, want)
		}
	}
}

func TestTasksSayWhatResumingDoesWithThem(t *testing.T) {
	want := map[string]string{
		contract.Provision: contract.ResumeRepeat, contract.Smoketest: contract.ResumeRepeat,
		contract.LoadGen: contract.ResumeRestart,
	}
	want[RemoteTask(contract.Smoketest)], want[RemoteTask(contract.LoadGen)] = contract.ResumeRepeat,
		contract.ResumeRestart
	for _, task := range makeTasks(t) {
		if got := task.Annotations[contract.AnnotationResume]; got != want[task.Name] {
			t.Errorf("%s: got %q, want %q", task.Name, got, want[task.Name])
		}
	}
}

func TestFinishGoesOnWhateverHappens(t *testing.T) {
	for _, task := range makeTasks(t) {
		if task.Name != contract.Finish && task.Name != FinishKeep {
			continue
		}
		for _, step := range task.Spec.Steps {
			if step.OnError != tektonv1.Continue {
				t.Errorf("%s: step %s can stop the steps after it", task.Name, step.Name)
			}
		}
	}
}

func TestAMissingImageIsAnError(t *testing.T) {
	_, err := Tasks(Release{Images: map[string]string{contract.Provision: "x"}})
	if err == nil || err.Error() != `building task "smoketest": no image for binary "smoketest"` {
		t.Errorf("got %v", err)
	}
}

func TestTasksOfAPipelineFollowEachOther(t *testing.T) {
	for _, remote := range []bool{false, true} {
		testOrder(t, Shape{
			Loads: make([]Load, 3), Teardown: true, TeardownDeadline: time.Minute,
			FinalizeDeadline: time.Minute, Remote: remote,
		})
	}
}

// testOrder is the same for all: a task has its name wherever it runs.
func testOrder(t *testing.T, shape Shape) {
	t.Helper()
	p := New("x", "v0.1.0", shape, func(task string) *tektonv1.TaskRef { return &tektonv1.TaskRef{Name: task} })
	var names []string
	for i, task := range p.Spec.Tasks {
		if i > 0 && !slices.Equal(task.RunAfter, names[i-1:]) {
			t.Errorf("%s runs after %q, want %q", task.Name, task.RunAfter, names[i-1:])
		}
		names = append(names, task.Name)
	}
	want := "provision smoketest load-gen-0 load-gen-1 load-gen-2 release collect mlflow-push"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTasksOfARemoteTargetRunThere(t *testing.T) {
	shape := Shape{Loads: make([]Load, 1), Teardown: true, Remote: true, LoadCPU: "250m"}
	want := "provision smoketest-away load-gen-away release collect-away mlflow-push finish"
	if got := strings.Join(shape.TaskNames(), " "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	p := New("x", "v0.1.0", shape, func(task string) *tektonv1.TaskRef { return &tektonv1.TaskRef{Name: task} })
	load := p.Spec.Tasks[2]
	if cpu := load.Params[len(load.Params)-1]; cpu.Name != contract.ParamLoadCPU || cpu.Value.StringVal != "250m" {
		t.Errorf("the load generator gets %+v", load.Params)
	}
	for _, task := range makeTasks(t) {
		if task.Name != RemoteTask(contract.LoadGen) {
			continue
		}
		args := strings.Join(task.Spec.Steps[0].Args, " ")
		for _, want := range []string{"exec ", "--image=reg.example/bflow/load-gen:v0.1.0",
			"--files-image=reg.example/bflow/collect:v0.1.0", "--cpu=$(params.load-cpu)", "--max-memory=4Gi",
			" -- --endpoint=$(params.endpoint) --measurement=$(params.measurement)"} {
			if !strings.Contains(args, want) {
				t.Errorf("no %q in %s", want, args)
			}
		}
	}
}
