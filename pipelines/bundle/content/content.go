// Package content defines the contents of a bundle: every Task, the Pipelines that most runs share, each named by a
// hash of its content, and the Pipeline that starts runs.
//
// The compiler can therefore refer to a bundle without opening it. The package must know nothing of registries.
package content

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"bflow.dev/bflow/pipelines"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Limits of the shapes in a bundle. Tekton reads no bundle of more than 20 objects.
const (
	maxDeployed = 3 // measurements of a run that deploys its server
	maxEndpoint = 1 // measurements of a server that is there already
	maxRemote   = 1 // measurements of a run that deploys its server on a remote target
)

// Time of finally where a plan does not say otherwise, with a teardown and without.
const (
	finallyWithTeardown    = 17 * time.Minute
	finallyWithoutTeardown = 7 * time.Minute
)

// Shapes are those whose Pipelines are in a bundle: no key for the server under test, the usual deadlines.
func Shapes() []pipelines.Shape {
	var shapes []pipelines.Shape
	down, finalize := pipelines.FinishDeadlines(finallyWithTeardown, true)
	for n := 1; n <= maxDeployed; n++ {
		shapes = append(shapes, pipelines.Shape{
			Loads: make([]pipelines.Load, n), Teardown: true, TeardownDeadline: down, FinalizeDeadline: finalize,
		})
	}
	for n := 1; n <= maxRemote; n++ {
		shapes = append(shapes, pipelines.Shape{
			Remote: true, Loads: make([]pipelines.Load, n), Teardown: true, TeardownDeadline: down,
			FinalizeDeadline: finalize,
		})
	}
	_, finalize = pipelines.FinishDeadlines(finallyWithoutTeardown, false)
	for n := 1; n <= maxEndpoint; n++ {
		shapes = append(shapes, pipelines.Shape{Loads: make([]pipelines.Load, n), FinalizeDeadline: finalize})
	}
	return shapes
}

// Has reports whether a bundle holds the Pipeline of s.
func Has(s pipelines.Shape) bool {
	for _, shape := range Shapes() {
		if text(shape) == text(s) {
			return true
		}
	}
	return false
}

// PipelineName is the name of the Pipeline of a shape in a bundle of one bflow version. It covers how tasks are wired,
// so a bundle of a version that wires them otherwise has no Pipeline of that name, and a run that asks for it fails at
// once.
func PipelineName(version string, s pipelines.Shape) string {
	sum := sha256.Sum256([]byte(text(pipelines.New("", version, s, byName))))
	return "bflow-run-" + hex.EncodeToString(sum[:6])
}

func byName(task string) *tektonv1.TaskRef { return &tektonv1.TaskRef{Name: task} }

// text is the JSON of a value that cannot fail to encode.
func text(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// Objects returns what the bundle of a release holds, in a fixed order.
func Objects(r pipelines.Release) ([]runtime.Object, error) {
	tasks, err := pipelines.Tasks(r)
	if err != nil {
		return nil, err
	}
	var objects []runtime.Object
	for _, t := range tasks {
		objects = append(objects, t)
	}
	for _, shape := range Shapes() {
		p, err := whole(r.Version, shape, tasks)
		if err != nil {
			return nil, err
		}
		objects = append(objects, p)
	}
	task, starter, err := pipelines.Experiment(r)
	if err != nil {
		return nil, err
	}
	whole := starter.DeepCopy()
	whole.Spec.Tasks[0].TaskRef, whole.Spec.Tasks[0].TaskSpec = nil, embed(task)
	return append(objects, task, whole), nil
}

// whole is the Pipeline of a shape with its Tasks inside. A bundle cannot name its own digest, so its Pipelines cannot
// refer to its Tasks; and a run resolves one object instead of eight.
func whole(version string, shape pipelines.Shape, tasks []*tektonv1.Task) (*tektonv1.Pipeline, error) {
	p := pipelines.New(PipelineName(version, shape), version, shape, byName)
	byName := map[string]*tektonv1.Task{}
	for _, t := range tasks {
		byName[t.Name] = t
	}
	for _, list := range [][]tektonv1.PipelineTask{p.Spec.Tasks, p.Spec.Finally} {
		for i := range list {
			task := byName[list[i].TaskRef.Name]
			if task == nil {
				return nil, fmt.Errorf("building pipeline %q: there is no Task %q", p.Name, list[i].TaskRef.Name)
			}
			list[i].TaskRef, list[i].TaskSpec = nil, embed(task)
		}
	}
	return p, nil
}

// embed is a Task inside a Pipeline. Its labels and the annotation that other parts read stay with it. What is said of
// params, results and workspaces does not: it can be read in the Task, and an object of a bundle must stay small.
func embed(task *tektonv1.Task) *tektonv1.EmbeddedTask {
	e := &tektonv1.EmbeddedTask{
		TaskSpec: *task.Spec.DeepCopy(), Metadata: tektonv1.PipelineTaskMetadata{Labels: task.Labels},
	}
	if resume := task.Annotations[contract.AnnotationResume]; resume != "" {
		e.Metadata.Annotations = map[string]string{contract.AnnotationResume: resume}
	}
	for i := range e.Params {
		e.Params[i].Description = ""
	}
	for i := range e.Results {
		e.Results[i].Description = ""
	}
	for i := range e.Workspaces {
		e.Workspaces[i].Description = ""
	}
	return e
}
