package local

import (
	"context"
	"fmt"
	"strconv"

	"bflow.dev/bflow/pipelines"
	"bflow.dev/bflow/runplan/contract"

	"github.com/google/uuid"
	"github.com/tektoncd/pipeline/pkg/apis/config"
	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"github.com/tektoncd/pipeline/pkg/reconciler/pipeline/dag"
	corev1 "k8s.io/api/core/v1"
)

// program is a PipelineRun with all its parts found and defaulted: what remains open are values of running tasks.
type program struct {
	run      *v1.PipelineRun
	pipeline string
	original *v1.Pipeline     // nil for an inline one
	spec     *v1.PipelineSpec // variables of the Pipeline's scope are replaced
	bodies   map[string]body  // by pipeline task
	configs  map[string]*corev1.ConfigMap
	graph    *dag.Graph
	params   v1.Params
	scope    values // of the Pipeline: params, context, workspaces
}

// body is the Task behind a pipeline task.
type body struct {
	task   string // name of the Task; empty for an inline one
	spec   *v1.TaskSpec
	resume string // contract.AnnotationResume
}

// link finds the parts of o's PipelineRun. Without refusals the program is whole.
func link(o Options) (*program, []Refusal) {
	if n := len(o.Objects.PipelineRuns); n != 1 {
		return nil, []Refusal{{Why: fmt.Sprintf("want one PipelineRun, got %d", n)}}
	}
	ctx := tektonContext()
	p := &program{
		run: o.Objects.PipelineRuns[0].DeepCopy(), bodies: map[string]body{}, configs: map[string]*corev1.ConfigMap{},
	}
	p.run.Name, p.run.GenerateName = o.RunID, ""
	if p.run.Name == "" {
		p.run.Name = "run"
	}
	p.run.SetDefaults(ctx)
	for _, c := range o.Objects.ConfigMaps {
		p.configs[c.Name] = c
	}
	if refusal := p.findPipeline(ctx, o.Objects); refusal != nil {
		return nil, []Refusal{*refusal}
	}
	if err := p.enter(o.Attempt); err != nil {
		return nil, []Refusal{{p.where(), err.Error()}}
	}
	refusals := p.findTasks(ctx, o.Objects)
	if len(refusals) > 0 {
		return nil, refusals
	}
	return p, p.validate(ctx)
}

func (p *program) where() string { return fmt.Sprintf("PipelineRun %q", p.run.Name) }

func (p *program) findPipeline(ctx context.Context, objects pipelines.Bundle) *Refusal {
	ref := p.run.Spec.PipelineRef
	switch {
	case p.run.Spec.PipelineSpec != nil:
		p.pipeline, p.spec = p.run.Name, p.run.Spec.PipelineSpec.DeepCopy()
		p.spec.SetDefaults(ctx)
		return nil
	case ref == nil:
		return &Refusal{p.where(), "it names no Pipeline"}
	case ref.Resolver != "":
		return &Refusal{
			p.where(), fmt.Sprintf(
				"its Pipeline comes from the %q resolver; only inline ones and those beside it run here", ref.Resolver),
		}
	}
	for _, pl := range objects.Pipelines {
		if pl.Name == ref.Name {
			p.original = pl.DeepCopy()
			p.original.SetDefaults(ctx)
			p.pipeline, p.spec = pl.Name, p.original.Spec.DeepCopy()
			return nil
		}
	}
	return &Refusal{p.where(), fmt.Sprintf("its Pipeline %q is not among the documents", ref.Name)}
}

// enter binds the Pipeline's params and replaces the variables of its scope.
func (p *program) enter(attempt int) error {
	outer := newValues()
	for name, value := range map[string]string{
		"context.pipelineRun.name": p.run.Name, "context.pipeline.name": p.pipeline,
		"context.pipelineRun.namespace": p.run.Namespace, "context.pipelineRun.uid": uid(p.run.Name),
	} {
		outer.strings[name] = value
	}
	for _, w := range p.spec.Workspaces {
		outer.strings["workspaces."+w.Name+".bound"] = "false"
	}
	for _, w := range p.run.Spec.Workspaces {
		outer.strings["workspaces."+w.Name+".bound"] = "true"
	}
	given := outer.params(setAttempt(p.spec.Params, p.run.Spec.Params, attempt))
	params, err := bindParams(p.spec.Params, given, outer)
	if err != nil {
		return err
	}
	p.params, p.scope = params, outer
	p.scope.setParams(params)
	for i := range p.spec.Tasks {
		p.scope.pipelineTask(&p.spec.Tasks[i])
	}
	for i := range p.spec.Finally {
		p.scope.pipelineTask(&p.spec.Finally[i])
	}
	return nil
}

// setAttempt gives the param "attempt", where a Pipeline declares it, the number of this attempt.
func setAttempt(specs v1.ParamSpecs, given v1.Params, attempt int) v1.Params {
	out := make(v1.Params, 0, len(given)+1)
	for _, p := range given {
		if p.Name != contract.ParamAttempt {
			out = append(out, p)
		}
	}
	for _, spec := range specs {
		if spec.Name == contract.ParamAttempt {
			value := v1.ParamValue{Type: v1.ParamTypeString, StringVal: strconv.Itoa(max(attempt, 1))}
			return append(out, v1.Param{Name: spec.Name, Value: value})
		}
	}
	return given
}

// all lists the pipeline tasks, finally tasks last.
func (p *program) all() []*v1.PipelineTask {
	var tasks []*v1.PipelineTask
	for i := range p.spec.Tasks {
		tasks = append(tasks, &p.spec.Tasks[i])
	}
	for i := range p.spec.Finally {
		tasks = append(tasks, &p.spec.Finally[i])
	}
	return tasks
}

// uid makes the uid of a thing of a run: as unique as its name, and the same on every attempt.
func uid(name string) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("bflow.dev/local/"+name)).String()
}

// tektonContext carries Tekton's defaults with all its fields allowed: what cannot run here is refused by name instead.
func tektonContext() context.Context {
	flags, err := config.NewFeatureFlagsFromMap(map[string]string{
		"enable-api-fields": config.AlphaAPIFields, config.EnableCELInWhenExpression: "true", config.EnableArtifacts: "true",
		config.EnableParamEnum: "true", config.EnableConciseResolverSyntax: "true",
	})
	if err != nil {
		return context.Background()
	}
	defaults, err := config.NewDefaultsFromMap(map[string]string{})
	if err != nil {
		return context.Background()
	}
	return config.ToContext(context.Background(), &config.Config{Defaults: defaults, FeatureFlags: flags})
}
