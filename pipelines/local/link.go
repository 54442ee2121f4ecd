package local

import (
	"context"
	"fmt"
	"strings"

	"bflow.dev/bflow/pipelines"
	"bflow.dev/bflow/runplan/contract"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"github.com/tektoncd/pipeline/pkg/reconciler/pipeline/dag"
)

// findTasks finds the Task of each pipeline task.
func (p *program) findTasks(ctx context.Context, objects pipelines.Bundle) []Refusal {
	var refusals []Refusal
	for _, pt := range p.all() {
		b, why := findTask(ctx, pt, objects)
		if why != "" {
			refusals = append(refusals, Refusal{taskWhere(pt.Name), why})
			continue
		}
		p.bodies[pt.Name] = b
	}
	return refusals
}

func taskWhere(name string) string { return fmt.Sprintf("task %q", name) }

func findTask(ctx context.Context, pt *v1.PipelineTask, objects pipelines.Bundle) (body, string) {
	ref := pt.TaskRef
	switch {
	case pt.PipelineRef != nil || pt.PipelineSpec != nil:
		return body{}, "it is a Pipeline in a Pipeline"
	case pt.TaskSpec.IsCustomTask() || ref.IsCustomTask():
		return body{}, "it is a custom task, which a controller of its own would run"
	case pt.TaskSpec != nil:
		spec := pt.TaskSpec.TaskSpec.DeepCopy()
		spec.SetDefaults(ctx)
		return body{spec: spec, resume: pt.TaskSpec.Metadata.Annotations[contract.AnnotationResume]}, ""
	case ref == nil:
		return body{}, "it names no Task"
	case ref.Resolver != "":
		return body{}, fmt.Sprintf("its Task comes from the %q resolver; only inline ones and those beside it run here",
			ref.Resolver)
	}
	for _, t := range objects.Tasks {
		if t.Name == ref.Name {
			spec := t.Spec.DeepCopy()
			spec.SetDefaults(ctx)
			return body{task: t.Name, spec: spec, resume: t.Annotations[contract.AnnotationResume]}, ""
		}
	}
	return body{}, fmt.Sprintf("its Task %q is not among the documents", ref.Name)
}

// validate applies Tekton's own rules, and builds the graph by them.
func (p *program) validate(ctx context.Context) []Refusal {
	var refusals []Refusal
	if err := p.run.Validate(ctx); err != nil {
		refusals = append(refusals, Refusal{p.where(), tektonSays(err)})
	}
	if p.original != nil {
		if err := p.original.Validate(ctx); err != nil {
			refusals = append(refusals, Refusal{fmt.Sprintf("Pipeline %q", p.pipeline), tektonSays(err)})
		}
	}
	for _, pt := range p.all() {
		b := p.bodies[pt.Name]
		if b.task == "" {
			continue // validated with its Pipeline
		}
		if err := b.spec.Validate(ctx); err != nil {
			refusals = append(refusals, Refusal{fmt.Sprintf("Task %q", b.task), tektonSays(err)})
		}
	}
	tasks := v1.PipelineTaskList(p.spec.Tasks)
	graph, err := dag.Build(tasks, tasks.Deps())
	if err != nil && len(refusals) == 0 {
		return []Refusal{{p.where(), err.Error()}}
	}
	p.graph = graph
	return refusals
}

// tektonSays makes one line of what Tekton found.
func tektonSays(err error) string {
	return "Tekton refuses it: " + strings.TrimSuffix(strings.ReplaceAll(err.Error(), "\n", "; "), ": ")
}
