package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bflow.dev/bflow/internal/kube"
	queuerun "bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// Ended says what a cancellation met.
type Ended string

// What a cancellation met.
const (
	WasQueued Ended = "queued" // it will never start, or not again: it was between two attempts
	WasAlive  Ended = "alive"  // its last tasks take everything down
	WasOver   Ended = "over"   // it had ended by itself
)

// Cancel asks for the end of a run. One that waits is Cancelled: to run its finally tasks would be to let it start. One
// that has started is CancelledRunFinally, so that its teardown runs; with force nothing of it runs any more, and the
// controller takes everything down. One that is between two attempts gets no further one, and where that has been made
// since run was read, it is that which ends.
func (c *Cluster) Cancel(ctx context.Context, run *Run, force bool, now time.Time) (Ended, error) {
	pr := run.Last()
	for {
		held := (force || pr.Annotations[contract.AnnotationKeepServer] != "") &&
			pr.Annotations[contract.AnnotationAdmitted] != "" && pr.Annotations[contract.AnnotationReleased] == ""
		between := queuerun.Between(pr)
		if pr.IsDone() && !held && !between {
			next, err := nextOf(ctx, c.api, pr)
			if err != nil {
				return "", fmt.Errorf("cancelling run %s: %w", run.ID, err)
			}
			if next == nil {
				return WasOver, nil
			}
			pr = next
			continue
		}
		status, met := tektonv1.PipelineRunSpecStatusCancelledRunFinally, WasAlive
		switch {
		case between && !held:
			met = WasQueued
		case pr.Spec.Status == tektonv1.PipelineRunSpecStatusPending:
			status, met = tektonv1.PipelineRunSpecStatusCancelled, WasQueued
		case force || pr.IsCancelled(): // what was cancelled outright stays so
			status = tektonv1.PipelineRunSpecStatusCancelled
		}
		annotations := map[string]string{contract.AnnotationCancel: now.UTC().Format(time.RFC3339)}
		if force && met == WasAlive {
			annotations[contract.AnnotationForce] = annotations[contract.AnnotationCancel]
		}
		// The version keeps a run that is let start just now from losing its teardown.
		change := map[string]any{"metadata": map[string]any{"resourceVersion": pr.ResourceVersion,
			"annotations": annotations}}
		if !pr.IsDone() {
			change["spec"] = map[string]any{"status": status}
		}
		err := c.api.Merge(ctx, pipelineRuns(pr.Namespace, pr.Name), change, kube.Write{})
		if !apierrors.IsConflict(err) {
			return met, wrap("cancelling run "+run.ID, err)
		}
		if pr, err = kube.Get[tektonv1.PipelineRun](ctx, c.api, pipelineRuns(pr.Namespace, pr.Name)); err != nil {
			return "", fmt.Errorf("cancelling run %s: %w", run.ID, err)
		}
	}
}

// nextOf is the attempt that came after pr, nil where there is none.
func nextOf(ctx context.Context, api *kube.Client, pr *tektonv1.PipelineRun) (*tektonv1.PipelineRun, error) {
	name := queuerun.Next(pr)
	if name == "" {
		return nil, nil
	}
	next, err := kube.Get[tektonv1.PipelineRun](ctx, api, pipelineRuns(pr.Namespace, name))
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return next, err
}

func wrap(act string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", act, err)
}

// ErrAlive is a run that has not ended.
var ErrAlive = errors.New("it has not ended")

// Delete deletes every attempt of a run and its summary, and waits until they are gone: the controller holds them until
// nothing of the run is left on its target. held hears what it waits for, when that lasts. A run that has not ended is
// refused with ErrAlive unless force.
func (c *Cluster) Delete(ctx context.Context, run *Run, force bool, held func(why string)) error {
	if s := StatusOf(run, nil); s.Alive && !force {
		return fmt.Errorf("deleting run %s: %w", run.ID, ErrAlive)
	}
	d := deletion{c, run, held}
	if err := d.mark(ctx); err != nil {
		return err
	}
	return d.await(ctx)
}

// DeleteOrphan deletes a run that no controller looks after: once teardown has done what a controller does before it
// lets a run go, our finalizers are taken off. That takes the right to delete the namespace.
func (c *Cluster) DeleteOrphan(ctx context.Context, run *Run, teardown func(context.Context),
	held func(why string)) error {
	d := deletion{c, run, held}
	if err := d.mark(ctx); err != nil {
		return err
	}
	teardown(ctx)
	for _, pr := range run.Attempts {
		if err := letGo(ctx, c.api, pipelineRuns(pr.Namespace, pr.Name)); err != nil {
			return fmt.Errorf("removing the finalizers of run %s: %w", run.ID, err)
		}
	}
	return d.await(ctx)
}

// letGo takes our finalizers off a PipelineRun, or off the CustomRun of a matrix.
func letGo(ctx context.Context, api *kube.Client, at kube.At) error {
	for {
		o, err := kube.Get[partial](ctx, api, at)
		if err != nil {
			if apierrors.IsNotFound(err) {
				return nil
			}
			return err
		}
		kept := slices.DeleteFunc(slices.Clone(o.Finalizers), func(f string) bool {
			return f == contract.Finalizer || f == contract.FinalizerMatrix
		})
		if len(kept) == len(o.Finalizers) {
			return nil
		}
		change := map[string]any{"metadata": map[string]any{"resourceVersion": o.ResourceVersion, "finalizers": kept}}
		err = api.Merge(ctx, at, change, kube.Write{})
		if !apierrors.IsConflict(err) {
			if apierrors.IsNotFound(err) {
				return nil
			}
			return err
		}
	}
}

// deletion is that of a run. held hears what it waits for, when that lasts.
type deletion struct {
	c    *Cluster
	run  *Run
	held func(why string)
}

// mark tells the API server to delete every attempt of the run, and its summary.
func (d deletion) mark(ctx context.Context) error {
	for _, pr := range d.run.Attempts {
		if _, err := d.c.api.Delete(ctx, pipelineRuns(pr.Namespace, pr.Name), kube.Deletion{UID: pr.UID}); err != nil {
			return fmt.Errorf("deleting run %s: %w", d.run.ID, err)
		}
	}
	return wrap("deleting the summary of run "+d.run.ID, deleteSummary(ctx, d.c.api, d.run.Namespace, d.run.ID))
}

// deleteSummary deletes the summary of a run or a matrix. It is of no use alone, so whoever may not may leave it.
func deleteSummary(ctx context.Context, api *kube.Client, namespace, name string) error {
	_, err := api.Delete(ctx, configMaps(namespace, contract.ResultConfigMap(name)), kube.Deletion{})
	if apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

// Orphaned says whether no controller looks after runs: see run.Orphaned. Where that cannot be read there may be one.
func (c *Cluster) Orphaned(ctx context.Context, now time.Time) bool {
	d, err := kube.Get[appsv1.Deployment](ctx, c.api, controllerAt())
	if err != nil {
		return apierrors.IsNotFound(err)
	}
	return queuerun.Orphaned(d, now)
}

func controllerAt() kube.At {
	return kube.Apps("deployments", contract.NamespaceSystem, contract.AccountController)
}

// heldLong is how long a deletion may take before its reason is told.
const heldLong = 3 * time.Second

// await waits until no attempt is left.
func (d deletion) await(ctx context.Context) error {
	for _, pr := range d.run.Attempts {
		err := awaitGone(ctx, d.c.api, pipelineRuns(pr.Namespace, ""), kube.Named(pr.Name), pr.UID,
			func() { d.held(d.reason(ctx)) })
		if err != nil {
			return fmt.Errorf("waiting until run %s is gone: %w; its deletion continues", d.run.ID, err)
		}
	}
	return nil
}

// awaitGone waits until the object of uid is gone, "" = all that sel selects. held is called when that lasts.
func awaitGone(ctx context.Context, api *kube.Client, at kube.At, sel kube.Selector, uid types.UID, held func()) error {
	began, said := time.Now(), false
	awaited := func(o *partial) bool { return uid == "" || o.UID == uid }
	return kube.Until(ctx, api, at, sel, time.Second, func(left []*partial, trouble error) (bool, error) {
		if !said && time.Since(began) >= heldLong {
			said = true
			held()
		}
		return trouble == nil && !slices.ContainsFunc(left, awaited), nil
	})
}

// reason says what keeps the run.
func (d deletion) reason(ctx context.Context) string {
	if engine, err := d.c.Engine(ctx, d.run); err == nil && len(engine) > 0 {
		return fmt.Sprintf("%d pods of the server under test are being deleted", len(engine))
	}
	deployment, err := kube.Get[appsv1.Deployment](ctx, d.c.api, controllerAt())
	if apierrors.IsNotFound(err) || err == nil && deployment.Status.AvailableReplicas == 0 {
		return fmt.Sprintf(
			"%s has to release it, but is not running: see bflow doctor, or use --force if it is gone for good",
			contract.AccountController)
	}
	return fmt.Sprintf("%s keeps it until all its objects on the target are deleted", contract.AccountController)
}

// Plan is the plan of a run, from its ConfigMap.
func (c *Cluster) Plan(ctx context.Context, run *Run) ([]byte, error) {
	name := planOf(run.Last())
	if name == "" {
		return nil, fmt.Errorf("reading the plan of run %s: its workspace %q names no ConfigMap", run.ID,
			contract.WorkspacePlan)
	}
	cm, err := kube.Get[corev1.ConfigMap](ctx, c.api, configMaps(run.Namespace, name))
	if err != nil {
		return nil, fmt.Errorf("reading the plan of run %s: %w", run.ID, err)
	}
	return unpack(cm)
}

func planOf(pr *tektonv1.PipelineRun) string {
	for _, ws := range pr.Spec.Workspaces {
		if ws.Name == contract.WorkspacePlan && ws.ConfigMap != nil {
			return ws.ConfigMap.Name
		}
	}
	return ""
}
