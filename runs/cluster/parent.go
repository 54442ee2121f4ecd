package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/report/brief"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/pkg/apis"
)

// Parent is a PipelineRun whose task submits runs for somebody.
type Parent struct {
	Name, Namespace string
	UID             types.UID
	Created         time.Time
	Params          map[string]string // with the defaults of its Pipeline
	Annotations     map[string]string
	Timeout         time.Duration // after which Tekton ends it; 0 = never

	c *Cluster
}

// Parent reads the PipelineRun of a name.
func (c *Cluster) Parent(ctx context.Context, namespace, name string) (*Parent, error) {
	pr, err := kube.Get[tektonv1.PipelineRun](ctx, c.api, pipelineRuns(namespace, name))
	if err != nil {
		return nil, fmt.Errorf("reading PipelineRun %s: %w", name, err)
	}
	p := &Parent{c: c, Name: pr.Name, Namespace: pr.Namespace, UID: pr.UID, Created: pr.CreationTimestamp.Time,
		Params: map[string]string{}, Annotations: pr.Annotations}
	if spec := pr.Status.PipelineSpec; spec != nil {
		for _, param := range spec.Params {
			if param.Default != nil {
				p.Params[param.Name] = param.Default.StringVal
			}
		}
	}
	for _, param := range pr.Spec.Params {
		p.Params[param.Name] = param.Value.StringVal
	}
	if t := pr.Spec.Timeouts; t != nil && t.Pipeline != nil {
		p.Timeout = t.Pipeline.Duration
	}
	return p, nil
}

// owner makes what p submits go with p.
func (p *Parent) owner() []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "tekton.dev/v1", Kind: "PipelineRun", Name: p.Name, UID: p.UID}}
}

// adopt writes into pr, a run that is about to be made, who submits it.
func (p *Parent) adopt(pr *tektonv1.PipelineRun, notes map[string]string) {
	if p == nil {
		return
	}
	pr.OwnerReferences = p.owner()
	pr.Labels[contract.LabelParent] = p.Name
	maps.Copy(pr.Annotations, notes)
}

// has reports whether pr was submitted by p.
func (p *Parent) has(pr *tektonv1.PipelineRun) bool {
	for _, o := range pr.OwnerReferences {
		if p != nil && o.UID == p.UID {
			return true
		}
	}
	return false
}

// Notes returns an annotation of the runs that p has submitted already, by run: its task may be a second try.
func (p *Parent) Notes(ctx context.Context, annotation string) (map[string]string, error) {
	all, err := p.children(ctx)
	if err != nil {
		return nil, err
	}
	notes := map[string]string{}
	for _, pr := range all {
		if p.has(&pr) {
			notes[pr.Name] = pr.Annotations[annotation]
		}
	}
	return notes, nil
}

func (p *Parent) children(ctx context.Context) ([]tektonv1.PipelineRun, error) {
	all, err := kube.List[tektonv1.PipelineRun](ctx, p.c.api, pipelineRuns(p.Namespace, ""),
		kube.Labels(contract.LabelParent+"="+p.Name))
	return all, wrap("looking for runs of "+p.Name, err)
}

// EndReason is why a parent's task is told to end.
type EndReason string

// Why a parent's task is told to end.
const (
	ParentCancelled EndReason = "cancelled" // somebody cancelled or deleted it
	ParentTimedOut  EndReason = "timed out"
	// its pod is ended, by a drained node for one; nobody has said anything about the runs
	ParentEvicted EndReason = "evicted"
)

// WhyEnds finds out why the task of p, whose TaskRun is named, is told to end. It asks until it knows or ctx ends: news
// of it may come after the signal.
func (p *Parent) WhyEnds(ctx context.Context, taskRun string) EndReason {
	for {
		if why := p.whyEnds(ctx, taskRun); why != "" {
			return why
		}
		if !kube.Sleep(ctx, kube.Pause) {
			return ParentEvicted
		}
	}
}

func (p *Parent) whyEnds(ctx context.Context, taskRun string) EndReason {
	pr, err := kube.Get[tektonv1.PipelineRun](ctx, p.c.api, pipelineRuns(p.Namespace, p.Name))
	switch {
	case apierrors.IsNotFound(err):
		return ParentCancelled
	case err != nil:
		return ""
	case pr.UID != p.UID, pr.DeletionTimestamp != nil, pr.Spec.Status != "":
		return ParentCancelled
	}
	if cond := pr.Status.GetCondition(apis.ConditionSucceeded); cond != nil && cond.IsFalse() &&
		cond.Reason == tektonv1.PipelineRunReasonTimedOut.String() {
		return ParentTimedOut
	}
	tr, err := kube.Get[tektonv1.TaskRun](ctx, p.c.api, taskRuns(p.Namespace, taskRun))
	if err != nil {
		return ""
	}
	cond := tr.Status.GetCondition(apis.ConditionSucceeded)
	switch {
	case tr.Spec.StatusMessage == tektonv1.TaskRunCancelledByPipelineTimeoutMsg,
		cond != nil && cond.Reason == tektonv1.TaskRunReasonTimedOut.String():
		return ParentTimedOut
	case tr.Spec.Status == tektonv1.TaskRunSpecStatusCancelled:
		return ParentCancelled
	}
	return ""
}

// CancelChildren asks for the end of every run and matrix that p has submitted, as their Cancel does, and returns those
// that had not ended. Where the API server does not answer it tries again until ctx ends.
func (p *Parent) CancelChildren(ctx context.Context) (map[string]Ended, error) {
	met := map[string]Ended{}
	err := kube.Retry(ctx, kube.Pause, func() error { return p.cancelChildren(ctx, met) },
		func(err error) bool { return !kube.IsFinal(err) })
	return met, err
}

func (p *Parent) cancelChildren(ctx context.Context, met map[string]Ended) error {
	all, err := p.children(ctx)
	if err != nil {
		return err
	}
	var problems []error
	cancelOne := func(name string, cancel func() (Ended, error)) {
		if _, done := met[name]; done {
			return
		}
		was, err := cancel()
		if err == nil && was != WasOver {
			met[name] = was
		}
		problems = append(problems, err)
	}
	var runs []tektonv1.PipelineRun
	for i := range all {
		if all[i].Labels[contract.LabelRole] != contract.RoleMatrix {
			runs = append(runs, all[i])
			continue
		}
		cancelOne(all[i].Name, func() (Ended, error) { return p.cancelMatrix(ctx, all[i]) })
	}
	for _, run := range group(runs) {
		cancelOne(run.ID, func() (Ended, error) { return p.c.Cancel(ctx, &run, false, time.Now()) })
	}
	return errors.Join(problems...)
}

// cancelMatrix cancels a matrix of which nothing is known yet but its own PipelineRun.
func (p *Parent) cancelMatrix(ctx context.Context, parent tektonv1.PipelineRun) (Ended, error) {
	all := p.c.Matrices()
	custom, err := all.customOf(ctx, &parent)
	m := &Matrix{Parent: parent, Custom: custom}
	if err != nil {
		return "", fmt.Errorf("cancelling matrix %s: %w", m.Name(), err)
	}
	return all.Cancel(ctx, m, false, time.Now())
}

// Brief is what the last task of a run has left of it beside the run, nil where it left nothing.
func (c *Cluster) Brief(ctx context.Context, run *Run) (*brief.Brief, error) {
	cm, err := kube.Get[corev1.ConfigMap](ctx, c.api, configMaps(run.Namespace, contract.ResultConfigMap(run.ID)))
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the summary of run %s: %w", run.ID, err)
	}
	return briefIn(cm)
}

// briefIn is the summary that a ConfigMap holds.
func briefIn(cm *corev1.ConfigMap) (*brief.Brief, error) {
	var b brief.Brief
	if err := json.Unmarshal([]byte(cm.Data[brief.Key]), &b); err != nil {
		return nil, fmt.Errorf("reading the summary of run %s: %w", cm.Labels[contract.LabelRun], err)
	}
	return &b, nil
}

// results selects the summaries of runs.
const results = contract.LabelRole + "=result"

// BriefsOf are the summaries of runs by namespace/name. It is a courtesy of listings: what may not be read, or is none,
// is left out.
func (c *Cluster) BriefsOf(ctx context.Context, runs []Run) map[string]*brief.Brief {
	out, asked := map[string]*brief.Brief{}, map[string]bool{}
	for _, r := range runs {
		if asked[r.Namespace] {
			continue
		}
		asked[r.Namespace] = true
		maps, err := kube.List[corev1.ConfigMap](ctx, c.api, configMaps(r.Namespace, ""), kube.Labels(results))
		if err != nil {
			continue
		}
		for i := range maps {
			if b, err := briefIn(&maps[i]); err == nil && maps[i].Namespace == r.Namespace {
				out[r.Namespace+"/"+maps[i].Labels[contract.LabelRun]] = b
			}
		}
	}
	return out
}
