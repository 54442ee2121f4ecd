package check

import (
	"fmt"
	"slices"

	"bflow.dev/bflow/pipelines"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// wiring checks that the objects of b fit each other: every reference leads to an object, every param and workspace
// that is needed is bound and none that nobody declares, every result that is read is written.
func wiring(b pipelines.Bundle) []error {
	w := wire{
		tasks: map[string]*tektonv1.Task{}, pipelines: map[string]*tektonv1.Pipeline{}, configMaps: map[string]bool{},
	}
	for _, t := range b.Tasks {
		w.tasks[t.Name] = t
	}
	for _, p := range b.Pipelines {
		w.pipelines[p.Name] = p
	}
	for _, m := range b.ConfigMaps {
		w.configMaps[m.Namespace+"/"+m.Name] = true
	}
	for _, p := range b.Pipelines {
		w.in = fmt.Sprintf("Pipeline %q", p.Name)
		w.checkPipeline(p)
	}
	for _, r := range b.PipelineRuns {
		w.in = fmt.Sprintf("PipelineRun %q", r.Name+r.GenerateName)
		w.run(r)
	}
	return w.problems
}

type wire struct {
	tasks      map[string]*tektonv1.Task
	pipelines  map[string]*tektonv1.Pipeline
	configMaps map[string]bool
	in         string // the object being checked
	problems   []error
}

func (w *wire) report(format string, args ...any) {
	w.problems = append(w.problems, fmt.Errorf("%s: %s", w.in, fmt.Sprintf(format, args...)))
}

func (w *wire) checkPipeline(p *tektonv1.Pipeline) {
	written := map[string][]tektonv1.TaskResult{}
	for _, pt := range slices.Concat(p.Spec.Tasks, p.Spec.Finally) {
		task := w.task(p, &pt)
		if task == nil {
			w.report("task %q refers to Task %q, which is not there", pt.Name, taskName(pt.TaskRef))
			continue
		}
		written[pt.Name] = task.Results
		w.checkParams("task "+pt.Name, task.Params, pt.Params)
		w.checkTaskWorkspaces(p, &pt, task)
	}
	for _, pt := range slices.Concat(p.Spec.Tasks, p.Spec.Finally) {
		for _, ref := range tektonv1.PipelineTaskResultRefs(&pt) {
			w.checkResult("task "+pt.Name, written, ref)
		}
	}
	for _, r := range p.Spec.Results {
		expressions, _ := r.GetVarSubstitutionExpressions()
		for _, ref := range tektonv1.NewResultRefs(expressions) {
			w.checkResult("result "+r.Name, written, ref)
		}
	}
}

// task is what a pipeline task runs: the Task inside it, or the one it refers to. nil when that is not there.
func (w *wire) task(p *tektonv1.Pipeline, pt *tektonv1.PipelineTask) *tektonv1.TaskSpec {
	if pt.TaskSpec != nil {
		return &pt.TaskSpec.TaskSpec
	}
	task := w.tasks[taskName(pt.TaskRef)]
	if task == nil || task.Namespace != p.Namespace && pt.TaskRef.Resolver == "" {
		return nil
	}
	return &task.Spec
}

// taskName is the name of the Task that ref means, also in a bundle.
func taskName(ref *tektonv1.TaskRef) string {
	if ref == nil {
		return ""
	}
	return orBundled(ref.Name, ref.Params)
}

// orBundled is the name of an object in a bundle, where params of the resolver name one.
func orBundled(name string, params tektonv1.Params) string {
	for _, p := range params {
		if p.Name == "name" {
			return p.Value.StringVal
		}
	}
	return name
}

// checkParams checks bindings against declarations. An extra param is legal at run time, and always a typing error.
func (w *wire) checkParams(where string, declared tektonv1.ParamSpecs, bound tektonv1.Params) {
	given := map[string]tektonv1.ParamType{}
	for _, p := range bound {
		given[p.Name] = p.Value.Type
	}
	for _, spec := range declared {
		kind, ok := given[spec.Name]
		switch {
		case !ok && spec.Default == nil:
			w.report("%s does not bind param %q", where, spec.Name)
		case ok && kind != spec.Type:
			w.report("%s binds param %q as %s, want %s", where, spec.Name, kind, spec.Type)
		}
		delete(given, spec.Name)
	}
	for name := range given {
		w.report("%s binds param %q, which is not declared", where, name)
	}
}

func (w *wire) checkTaskWorkspaces(p *tektonv1.Pipeline, pt *tektonv1.PipelineTask, task *tektonv1.TaskSpec) {
	outer := map[string]bool{} // workspace of the Pipeline -> optional
	for _, ws := range p.Spec.Workspaces {
		outer[ws.Name] = ws.Optional
	}
	bound := map[string]string{}
	for _, ws := range pt.Workspaces {
		bound[ws.Name] = ws.Workspace
	}
	for _, ws := range task.Workspaces {
		name, ok := bound[ws.Name]
		optional, declared := outer[name]
		switch {
		case !ok && !ws.Optional:
			w.report("task %s does not bind workspace %q", pt.Name, ws.Name)
		case ok && !declared:
			w.report("task %s binds workspace %q to %q, which the Pipeline does not declare", pt.Name, ws.Name, name)
		case ok && optional && !ws.Optional:
			w.report("task %s needs workspace %q, which is optional in the Pipeline", pt.Name, ws.Name)
		}
		delete(bound, ws.Name)
	}
	for name := range bound {
		w.report("task %s binds workspace %q, which its Task does not declare", pt.Name, name)
	}
}

func (w *wire) checkResult(where string, written map[string][]tektonv1.TaskResult, ref *tektonv1.ResultRef) {
	results, ok := written[ref.PipelineTask]
	if !ok {
		w.report("%s reads a result of task %q, which is not there", where, ref.PipelineTask)
		return
	}
	at := slices.IndexFunc(results, func(r tektonv1.TaskResult) bool { return r.Name == ref.Result })
	if at < 0 {
		w.report("%s reads result %q, which task %q does not write", where, ref.Result, ref.PipelineTask)
		return
	}
	if kind := results[at].Type; kind != tektonv1.ResultsTypeString {
		w.report("%s reads result %q of task %q as text, but it is %s", where, ref.Result, ref.PipelineTask, kind)
	}
}

func (w *wire) run(r *tektonv1.PipelineRun) {
	if r.Spec.PipelineSpec != nil { // a matrix has its Pipeline in itself, with a custom task that no Task describes
		return
	}
	p := w.pipelines[pipelineName(r)]
	if p == nil || p.Namespace != r.Namespace && r.Spec.PipelineRef.Resolver == "" {
		w.report("refers to Pipeline %q, which is not there", pipelineName(r))
		return
	}
	w.checkParams("it", p.Spec.Params, r.Spec.Params)
	w.runWorkspaces(p, r)
	for _, spec := range r.Spec.TaskRunSpecs {
		if !slices.ContainsFunc(slices.Concat(p.Spec.Tasks, p.Spec.Finally),
			func(t tektonv1.PipelineTask) bool { return t.Name == spec.PipelineTaskName }) {
			w.report("taskRunSpecs names task %q, which Pipeline %q does not have", spec.PipelineTaskName, p.Name)
		}
	}
}

func pipelineName(r *tektonv1.PipelineRun) string {
	if r.Spec.PipelineRef == nil {
		return ""
	}
	return orBundled(r.Spec.PipelineRef.Name, r.Spec.PipelineRef.Params)
}

func (w *wire) runWorkspaces(p *tektonv1.Pipeline, r *tektonv1.PipelineRun) {
	bound := map[string]bool{}
	for _, ws := range r.Spec.Workspaces {
		bound[ws.Name] = true
		if ws.ConfigMap != nil && !w.configMaps[r.Namespace+"/"+ws.ConfigMap.Name] {
			w.report("workspace %q is ConfigMap %q, which is not there", ws.Name, ws.ConfigMap.Name)
		}
	}
	for _, ws := range p.Spec.Workspaces {
		if !bound[ws.Name] && !ws.Optional {
			w.report("does not bind workspace %q", ws.Name)
		}
		delete(bound, ws.Name)
	}
	for name := range bound {
		w.report("binds workspace %q, which Pipeline %q does not declare", name, p.Name)
	}
}
