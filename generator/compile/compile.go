package compile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Objects are what one plan compiles to. Tasks is empty with Options.Bundle. Tasks and Pipeline are shared by all
// plans of equal shape and must not be changed. Where the bundle holds the Pipeline too, Bundled is true: the run
// refers to it there, and nobody needs to create it.
type Objects struct {
	Tasks       []*tektonv1.Task
	Pipeline    *tektonv1.Pipeline
	ConfigMap   *corev1.ConfigMap
	PipelineRun *tektonv1.PipelineRun
	Bundled     bool
}

// Compile returns the objects of one sealed plan.
func Compile(plan *runplan.RunPlan, o Options) (Objects, error) {
	c, err := newCompiler(o)
	if err != nil {
		return Objects{}, err
	}
	return c.compile(plan)
}

// compiler keeps the objects that plans share.
type compiler struct {
	Options
	flows map[flowKey]*flow
}

func newCompiler(o Options) (*compiler, error) {
	o, err := o.check()
	return &compiler{Options: o, flows: map[flowKey]*flow{}}, err
}

func (c *compiler) compile(plan *runplan.RunPlan) (Objects, error) {
	objs, err := c.objects(plan)
	if err != nil {
		return Objects{}, fmt.Errorf("compiling plan %q: %w", plan.Name, err)
	}
	return objs, nil
}

func (c *compiler) objects(plan *runplan.RunPlan) (Objects, error) {
	if err := checkPlan(plan); err != nil {
		return Objects{}, err
	}
	if !c.NoQueue && plan.Queue.Name == "" {
		return Objects{}, errors.New("it names no queue; name one or compile without a queue")
	}
	if err := runplan.CheckSecrets(plan); err != nil {
		return Objects{}, err
	}
	secrets, err := runplan.ReferencesIn(plan)
	if err != nil {
		return Objects{}, err
	}
	f, err := c.flow(plan, len(secrets) > 0)
	if err != nil {
		return Objects{}, err
	}
	cm, err := c.configMap(plan)
	if err != nil {
		return Objects{}, err
	}
	run := c.pipelineRun(plan, f, cm.Name, secrets)
	return Objects{Tasks: f.tasks, Pipeline: f.pipeline, ConfigMap: cm, PipelineRun: run, Bundled: f.bundled}, nil
}

// maxName leaves room for the dash and the five characters that the server appends to the name of a run.
const maxName = validation.DNS1123LabelMaxLength - 6

// checkPlan refuses what Tekton would refuse later, or worse, take.
func checkPlan(p *runplan.RunPlan) error {
	if len(p.Digest) != 64 || len(p.Hash) != 64 {
		return errors.New("it has no hash and digest; seal it first")
	}
	if problems := validation.IsDNS1123Label(p.Name); len(problems) > 0 || len(p.Name) > maxName {
		return fmt.Errorf("its name is not a lower-case label of at most %d characters", maxName)
	}
	for _, key := range slices.Sorted(maps.Keys(p.Labels)) {
		if key == contract.LabelQueue || strings.HasPrefix(key, contract.Prefix) || strings.HasPrefix(key, "tekton.dev/") {
			return fmt.Errorf("label %q of the experiment is reserved; rename it", key)
		}
	}
	return checkTimeouts(p.Timeouts)
}

func checkTimeouts(t runplan.Timeouts) error {
	if t.Tasks <= 0 || t.Finally <= 0 || t.Pipeline < t.Tasks+t.Finally {
		return fmt.Errorf("timeouts: pipeline %s must hold tasks %s and finally %s, both above zero", t.Pipeline, t.Tasks,
			t.Finally)
	}
	for _, name := range slices.Sorted(maps.Keys(t.Task)) {
		if d := t.Task[name]; d <= 0 || d > t.Tasks {
			return fmt.Errorf("timeout of task %q: %s is not above zero and within the %s of all tasks", name, d, t.Tasks)
		}
	}
	return nil
}
