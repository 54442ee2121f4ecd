package release

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"bflow.dev/bflow/queue/gc"
	"bflow.dev/bflow/queue/lock/history"
	"bflow.dev/bflow/queue/lock/keeper"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// free gives the devices of a run back while its results are computed: its task release has ended well, and no pod
// that provision made is left.
func (r *Reconciler) free(ctx context.Context, t target.Target, pr *tektonv1.PipelineRun) error {
	if run.Freed(pr) {
		return nil
	}
	torndown, err := r.releaseTaskEnded(ctx, pr)
	if !torndown || err != nil {
		return err
	}
	var pods corev1.PodList
	if err := t.Live.List(ctx, &pods, client.InNamespace(pr.Namespace),
		client.MatchingLabelsSelector{Selector: gc.ByRun(run.ID(pr))}); err != nil {
		return fmt.Errorf("listing pods on target %q: %w", t.Name, err)
	}
	if slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool { return !ended(&p) && !r.foreign(&p) }) {
		return nil
	}
	return r.markFreed(ctx, pr)
}

// foreign says whether another hub made an object, whose runs may have the names of ours.
func (r *Reconciler) foreign(o client.Object) bool {
	hub := o.GetLabels()[contract.LabelHub]
	return hub != "" && r.opts.Hub != "" && hub != r.opts.Hub
}

func (r *Reconciler) releaseTaskEnded(ctx context.Context, pr *tektonv1.PipelineRun) (bool, error) {
	for _, child := range pr.Status.ChildReferences {
		if child.PipelineTaskName != contract.Release {
			continue
		}
		task := &tektonv1.TaskRun{}
		err := r.client.Get(ctx, client.ObjectKey{Namespace: pr.Namespace, Name: child.Name}, task)
		return err == nil && task.IsSuccessful(), client.IgnoreNotFound(err)
	}
	return false, nil
}

// markFreed is what the job framework reads to reclaim the quota of a run that is not over yet for it. The history is
// written first: the next run may start before the answer to the patch arrives, and that answer may be lost.
func (r *Reconciler) markFreed(ctx context.Context, pr *tektonv1.PipelineRun) error {
	if run.Freed(pr) {
		return nil
	}
	history.Write(r.opts.Log, keeper.EventOf(history.Idle, r.opts.Hub, pr))
	return r.annotate(ctx, pr, contract.AnnotationFreed, r.now())
}

// explain writes what the end of a run waits for, when that has changed.
func (r *Reconciler) explain(ctx context.Context, pr *tektonv1.PipelineRun, waits []string) error {
	text := "Ended; waiting for " + gc.Sentence(waits)
	if pr.Annotations[contract.AnnotationReason] == text {
		return nil
	}
	return r.annotate(ctx, pr, contract.AnnotationReason, text)
}

// owedError is a token of a run that could not be ended: whoever has it may make something on the target.
type owedError struct{ cause error }

func (e *owedError) Error() string { return "its token there to be ended: " + e.cause.Error() }
func (e *owedError) Unwrap() error { return e.cause }

// release gives the quota back. By force means that something is left which keeps being there: where that may hold
// devices its target is marked, so that no run is let start beside it. A token that cannot be ended is an *owedError,
// and by force written down at the target, for the Sweeper to end.
func (r *Reconciler) release(ctx context.Context, t target.Target, pr *tektonv1.PipelineRun, w work, left []string,
	dirty bool) error {
	if dirty {
		if err := r.markDirty(ctx, t, pr); err != nil {
			return err
		}
	}
	if err := r.opts.Access.End(ctx, pr); err != nil {
		return fmt.Errorf("deleting access to target %q: %w", t.Name, err)
	}
	if err := t.Revoke(ctx, pr.Namespace, pr.UID); err != nil {
		if len(left) == 0 {
			return &owedError{err}
		}
		if err := r.recordOwedToken(ctx, t, pr); err != nil {
			return err
		}
	}
	if err := r.dropFinish(ctx, pr); err != nil {
		return err
	}
	kind := history.Released
	if len(left) > 0 {
		kind = history.Forced
	}
	history.Write(r.opts.Log, keeper.EventOf(kind, r.opts.Hub, pr)) // first, as in markFreed
	if err := r.markReleased(ctx, pr, w.lost(pr)); err != nil {
		return err
	}
	r.tell(t, pr, w, left)
	return nil
}

func (r *Reconciler) tell(t target.Target, pr *tektonv1.PipelineRun, w work, left []string) {
	ended := later(run.EndedAt(pr), r.keptUntil(pr, w))
	took := max(0, r.opts.Clock.Since(ended)).Round(time.Millisecond)
	log := r.opts.Log.With("namespace", pr.Namespace, "run", run.ID(pr), "attempt", run.Attempt(pr), "target", t.Name,
		"took", took.String())
	r.opts.Metrics.Release.WithLabelValues(t.Name).Observe(took.Seconds())
	if len(left) == 0 {
		log.Info("run released")
		r.events.Eventf(pr, nil, corev1.EventTypeNormal, "Released", "Release",
			"Nothing of the run is left on target %s; its quota is free, %s after its end", t.Name, took.Round(time.Second))
		return
	}
	log.Warn("run released by force", "left", left)
	r.opts.Metrics.Forced.WithLabelValues(t.Name).Inc()
	why := fmt.Sprintf("after %s", r.opts.ForceAfter)
	if run.Forced(pr) {
		why = "because somebody asked for it"
	}
	r.events.Eventf(pr, nil, corev1.EventTypeWarning, "ForcedRelease", "Release",
		"Its quota was given back %s though this is left on target %s: %s. While it may hold devices no run starts there",
		why, t.Name, gc.Sentence(left))
}

// dropFinish deletes a finish that nobody owns: that of a deleted run.
func (r *Reconciler) dropFinish(ctx context.Context, pr *tektonv1.PipelineRun) error {
	if pr.DeletionTimestamp.IsZero() {
		return nil
	}
	task := &tektonv1.TaskRun{ObjectMeta: metav1.ObjectMeta{Namespace: pr.Namespace, Name: finishName(pr)}}
	if err := client.IgnoreNotFound(r.client.Delete(ctx, task)); err != nil {
		return fmt.Errorf("deleting task finish: %w", err)
	}
	return nil
}

// markReleased is one patch: a run is never released and held, nor let go and not released, nor over for who follows it
// while another attempt is to come.
func (r *Reconciler) markReleased(ctx context.Context, pr *tektonv1.PipelineRun, lost string) error {
	return r.change(ctx, pr, func(pr *tektonv1.PipelineRun) {
		if lost != "" {
			set(pr, run.AnnotationStopped, run.CauseLost+": "+lost)
		}
		set(pr, contract.AnnotationReleased, r.now())
		if !run.Freed(pr) {
			set(pr, contract.AnnotationFreed, r.now())
		}
		delete(pr.Annotations, contract.AnnotationReason)
		pr.Finalizers = slices.DeleteFunc(pr.Finalizers, func(f string) bool { return f == contract.Finalizer })
	})
}

// dropFinalizer takes the finalizer off a released run that somebody put it on again.
func (r *Reconciler) dropFinalizer(ctx context.Context, pr *tektonv1.PipelineRun) error {
	if !slices.Contains(pr.Finalizers, contract.Finalizer) {
		return nil
	}
	return r.change(ctx, pr, func(pr *tektonv1.PipelineRun) {
		pr.Finalizers = slices.DeleteFunc(pr.Finalizers, func(f string) bool { return f == contract.Finalizer })
	})
}

func (r *Reconciler) annotate(ctx context.Context, pr *tektonv1.PipelineRun, key, value string) error {
	return r.change(ctx, pr, func(pr *tektonv1.PipelineRun) { set(pr, key, value) })
}

// change patches pr, and fails with a conflict where somebody else did meanwhile.
func (r *Reconciler) change(ctx context.Context, pr *tektonv1.PipelineRun, edit func(*tektonv1.PipelineRun)) error {
	before := client.MergeFromWithOptions(pr.DeepCopy(), client.MergeFromWithOptimisticLock{})
	edit(pr)
	return r.client.Patch(ctx, pr, before)
}

func set(pr *tektonv1.PipelineRun, key, value string) {
	annotations := maps.Clone(pr.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	pr.Annotations = annotations
}

func (r *Reconciler) now() string { return r.opts.Clock.Now().UTC().Format(time.RFC3339) }
