package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runplan/literal"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Submission is what becomes runs.
type Submission struct {
	Plans   []*runplan.RunPlan
	Compile compile.Options
	Secrets []literal.Secret         // credentials that the experiment file held literally
	Name    func(base string) string // names a run
	// submits for somebody: a run of the same name that it made before is taken as it is; nil = a person submits
	Parent *Parent
	Notes  map[string]string // annotations of the runs of a parent
}

// longestBase leaves room in the 63 characters of a PipelineRun's name for time, random part and number of a later
// attempt.
const longestBase = 36

// Submit makes a run of every plan, in their order. The server checks everything before anything is made, so that a
// refusal leaves nothing behind.
func (c *Cluster) Submit(ctx context.Context, sub Submission) ([]*Run, error) {
	objects, err := sub.compile()
	if err != nil {
		return nil, err
	}
	if err := c.ready(ctx, objects); err != nil {
		return nil, err
	}
	var shared []part
	for _, o := range objects {
		shared = append(shared, sub.partsOf(o)...)
	}
	if err := c.share(ctx, shared, true); err != nil {
		return nil, err
	}
	for _, o := range objects {
		err := c.check(ctx, o.PipelineRun)
		if err != nil && !sub.madeBefore(err) {
			return nil, fmt.Errorf("checking run %s: %w", o.PipelineRun.Name, err)
		}
	}
	if err := c.share(ctx, shared, false); err != nil {
		return nil, err
	}
	return c.start(ctx, objects, sub)
}

// check lets the server check a PipelineRun.
func (c *Cluster) check(ctx context.Context, pr *tektonv1.PipelineRun) error {
	return c.api.Create(ctx, pipelineRuns(pr.Namespace, ""), pr, nil, kube.Write{DryRun: true})
}

// compile returns the objects of every plan with the names of their runs.
func (sub *Submission) compile() ([]compile.Objects, error) {
	var all []compile.Objects
	for _, p := range sub.Plans {
		o, err := compile.Compile(p, sub.Compile)
		if err != nil {
			return nil, err
		}
		name := sub.Name(strings.TrimRight(p.Name[:min(len(p.Name), longestBase)], "-"))
		named(o.PipelineRun, name)
		sub.Parent.adopt(o.PipelineRun, sub.Notes)
		all = append(all, o)
	}
	return all, nil
}

// named gives pr, the first attempt of a run, its name, which is that of the run. The controller writes it into the
// labels.
func named(pr *tektonv1.PipelineRun, name string) { pr.GenerateName, pr.Name = "", name }

// ready says what is missing on the cluster before the server's own words, which speak of resources.
func (c *Cluster) ready(ctx context.Context, objects []compile.Objects) error {
	checked := map[string]bool{}
	for _, o := range objects {
		pr := o.PipelineRun
		queue := pr.Labels[contract.LabelQueue]
		if checked[pr.Namespace+"/"+queue] {
			continue
		}
		checked[pr.Namespace+"/"+queue] = true
		if err := c.tekton(ctx); err != nil {
			return err
		}
		if queue == "" || queue == contract.TargetAny { // the controller puts such a run into the queue of a target
			continue
		}
		_, err := kube.Get[metav1.PartialObjectMetadata](ctx, c.api, kube.Kueue("localqueues", pr.Namespace, queue))
		var missing *kube.MissingError
		switch {
		case errors.As(err, &missing):
			return fmt.Errorf("submitting %s: %w, or start without a queue (--no-queue)", pr.Name, err)
		case apierrors.IsNotFound(err):
			return fmt.Errorf(
				"submitting %s: there is no queue %q in namespace %s of cluster %s; bflow bootstrap namespace add %s creates "+
					"queue %q, bflow target add creates that of another cluster, and --no-queue starts without one",
				pr.Name, queue, pr.Namespace, c.Name, pr.Namespace, contract.TargetLocal)
		case err != nil && !apierrors.IsForbidden(err): // whoever may not look may still submit
			return err
		}
	}
	return nil
}

// tekton says whether the cluster knows PipelineRuns.
func (c *Cluster) tekton(ctx context.Context) error {
	_, err := kube.Get[metav1.APIResourceList](ctx, c.api, kube.Tekton("", "", ""))
	if apierrors.IsNotFound(err) {
		return &kube.MissingError{What: "Tekton", Cluster: c.Name}
	}
	return err
}

// part is an object that runs share. It is named by its content: what is there already is right.
type part struct {
	at  kube.At
	obj any
}

func parts(keys []*corev1.Secret, tasks []*tektonv1.Task, pipelines []*tektonv1.Pipeline,
	plans []*corev1.ConfigMap) []part {
	var out []part
	for _, o := range keys {
		out = append(out, part{secrets(o.Namespace, o.Name), o})
	}
	for _, o := range tasks {
		out = append(out, part{kube.Tekton("tasks", o.Namespace, o.Name), o})
	}
	for _, o := range pipelines {
		out = append(out, part{kube.Tekton("pipelines", o.Namespace, o.Name), o})
	}
	for _, o := range plans {
		out = append(out, part{configMaps(o.Namespace, o.Name), o})
	}
	return out
}

// share makes parts, each once.
func (c *Cluster) share(ctx context.Context, parts []part, dry bool) error {
	made := map[kube.At]bool{}
	for _, p := range parts {
		if made[p.at] {
			continue
		}
		made[p.at] = true
		collection := p.at
		collection.Name = ""
		err := c.api.Create(ctx, collection, p.obj, nil, kube.Write{DryRun: dry})
		switch {
		case err == nil || apierrors.IsAlreadyExists(err):
		case noNamespace(err):
			return fmt.Errorf(
				"submitting to namespace %s: cluster %s has no such namespace; run bflow bootstrap namespace add %s, or name "+
					"another with -n",
				p.at.Namespace, c.Name, p.at.Namespace)
		default:
			return fmt.Errorf("making %s %s: %w", strings.TrimSuffix(p.at.Resource, "s"), p.at.Name, err)
		}
	}
	return nil
}

func noNamespace(err error) bool {
	var answer apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &answer) {
		return false
	}
	d := answer.Status().Details
	return d != nil && d.Kind == "namespaces"
}

// partsOf are what a run needs and others may need too.
func (sub *Submission) partsOf(o compile.Objects) []part {
	var pipelines []*tektonv1.Pipeline
	if !o.Bundled {
		pipelines = append(pipelines, o.Pipeline)
	}
	return parts(sub.needed(o), o.Tasks, pipelines, []*corev1.ConfigMap{o.ConfigMap})
}

// needed are the literal credentials that a run or its Pipeline names, as Secrets beside it. Those of a parent go with
// it.
func (sub *Submission) needed(o compile.Objects) []*corev1.Secret {
	text, _ := json.Marshal([]any{o.Pipeline.Spec, o.PipelineRun.Spec}) // they came from the compiler
	return sub.secrets(o.PipelineRun, func(name string) bool { return strings.Contains(string(text), `"`+name+`"`) })
}

// secrets are those of the literal credentials that are needed, beside pr.
func (sub *Submission) secrets(pr *tektonv1.PipelineRun, needed func(name string) bool) []*corev1.Secret {
	var out []*corev1.Secret
	for _, s := range sub.Secrets {
		if !needed(s.Name) {
			continue
		}
		immutable := true
		secret := &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{Name: s.Name, Namespace: pr.Namespace, Labels: map[string]string{
				contract.LabelManagedBy: contract.ManagedBy, contract.LabelExperiment: pr.Labels[contract.LabelExperiment]}},
			Immutable: &immutable, StringData: map[string]string{s.Key: s.Value}}
		if sub.Parent != nil {
			secret.OwnerReferences = sub.Parent.owner()
		}
		out = append(out, secret)
	}
	return out
}

// start makes the PipelineRuns, and each an owner of what it needs.
func (c *Cluster) start(ctx context.Context, objects []compile.Objects, sub Submission) ([]*Run, error) {
	var runs []*Run
	for i, o := range objects {
		pr, err := c.begin(ctx, o.PipelineRun, sub.Parent)
		if err != nil {
			return runs, fmt.Errorf("submitting run %s (%d of %d are there): %w", o.PipelineRun.Name, i, len(objects), err)
		}
		runs = append(runs, &Run{ID: pr.Name, Namespace: pr.Namespace, Attempts: []tektonv1.PipelineRun{*pr}})
		c.own(ctx, pr, configMaps(pr.Namespace, o.ConfigMap.Name), o.ConfigMap)
		if sub.Parent != nil {
			continue // its Secrets are its own: it may not patch any, since the answer to a patch is the whole Secret
		}
		for _, secret := range sub.needed(o) {
			c.own(ctx, pr, secrets(pr.Namespace, secret.Name), secret)
		}
	}
	return runs, nil
}

// begin makes a PipelineRun, or finds the one that parent has made before.
func (c *Cluster) begin(ctx context.Context, want *tektonv1.PipelineRun,
	parent *Parent) (*tektonv1.PipelineRun, error) {
	var pr tektonv1.PipelineRun
	err := c.api.Create(ctx, pipelineRuns(want.Namespace, ""), want, &pr, kube.Write{})
	if err == nil || parent == nil || !apierrors.IsAlreadyExists(err) {
		return &pr, err
	}
	there, readErr := kube.Get[tektonv1.PipelineRun](ctx, c.api, pipelineRuns(want.Namespace, want.Name))
	if readErr != nil {
		return nil, readErr
	}
	if !parent.has(there) {
		return nil, err
	}
	return there, nil
}

// own makes pr one of the owners of an object that runs share: it goes when the last of them is gone. The apply carries
// the whole object, so that one which has just gone with another run comes back; each run is a field manager of its
// own, so that none takes the place of another. Who may not do this leaves the object behind, which is no reason to
// fail.
func (c *Cluster) own(ctx context.Context, pr *tektonv1.PipelineRun, at kube.At, obj any) {
	text, err := json.Marshal(obj)
	var tree map[string]any
	if err != nil || json.Unmarshal(text, &tree) != nil {
		return
	}
	meta, ok := tree["metadata"].(map[string]any)
	if !ok {
		return
	}
	meta["ownerReferences"] = []any{map[string]any{"apiVersion": "tekton.dev/v1", "kind": "PipelineRun", "name": pr.Name,
		"uid": string(pr.UID)}}
	_ = c.api.Apply(ctx, at, tree, nil, kube.Write{Manager: kube.Manager + "-" + pr.Name, Force: true})
}
