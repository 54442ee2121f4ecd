package retention

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/report/brief"
	"bflow.dev/bflow/runplan/contract"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// unsavedRecheckInterval is when somebody who has had his time with a run whose results are nowhere else is looked at
// again. Whoever fetches them says so, and is heard at once.
const unsavedRecheckInterval = time.Hour

// Reconciler looks after ended runs, by namespace and identity.
type Reconciler struct {
	client  client.Client
	live    client.Reader
	volumes *volumes
	keep    Keep
	clock   clock.PassiveClock
	log     *slog.Logger
}

var _ reconcile.Reconciler = (*Reconciler)(nil)

// NewReconciler makes the reconciler of runs. live reads past the cache.
func NewReconciler(c client.Client, live client.Reader, keep Keep, clk clock.PassiveClock,
	log *slog.Logger) *Reconciler {
	known := &volumes{live: live, clock: clk, known: map[string]listing{}}
	return &Reconciler{client: c, live: live, volumes: known, keep: keep, clock: clk, log: log}
}

// Reconcile looks at one run: all of its attempts.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var cached tektonv1.PipelineRunList
	err := r.client.List(ctx, &cached, client.InNamespace(req.Namespace), client.MatchingFields{run.IndexID: req.Name},
		client.UnsafeDisableDeepCopy)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("listing the attempts of run %q: %w", req.Name, err)
	}
	_, d := r.judge(cached.Items)
	if !d.pods && !d.volume && !d.run {
		return r.again(d), nil
	}
	attempts, err := r.attempts(ctx, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	last, d := r.judge(attempts)
	if last == nil {
		return ctrl.Result{}, nil
	}
	kept, err := r.deleteExpired(ctx, attempts, last, d)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("deleting what run %q has left: %w", req.Name, err)
	}
	if kept {
		return ctrl.Result{RequeueAfter: unsavedRecheckInterval}, nil
	}
	return r.again(d), nil
}

func (r *Reconciler) again(d due) ctrl.Result {
	if d.next.IsZero() {
		return ctrl.Result{}
	}
	return ctrl.Result{RequeueAfter: max(time.Second, d.next.Sub(r.clock.Now()))}
}

// judge returns the last attempt, nil for a run that is not at its end, and what of the run has had its time.
func (r *Reconciler) judge(attempts []tektonv1.PipelineRun) (*tektonv1.PipelineRun, due) {
	ended := endedAt(attempts)
	if ended.IsZero() {
		return nil, due{}
	}
	last := lastOf(attempts)
	return last, r.keep.of(last).dueOf(ended, r.clock.Now())
}

// lastOf is the last attempt of a run.
func lastOf(attempts []tektonv1.PipelineRun) *tektonv1.PipelineRun {
	last := &attempts[0]
	for i := range attempts {
		if run.Attempt(&attempts[i]) > run.Attempt(last) {
			last = &attempts[i]
		}
	}
	return last
}

// attempts are those of a run, past the cache: one that was just made may not be there yet. A run that has never
// started has no label of its own.
func (r *Reconciler) attempts(ctx context.Context, key types.NamespacedName) ([]tektonv1.PipelineRun, error) {
	var list tektonv1.PipelineRunList
	if err := r.live.List(ctx, &list, client.InNamespace(key.Namespace),
		client.MatchingLabels{contract.LabelRun: key.Name}); err != nil {
		return nil, fmt.Errorf("listing its attempts: %w", err)
	}
	out := slices.DeleteFunc(list.Items, func(pr tektonv1.PipelineRun) bool {
		return !run.Ours(&pr) ||
			run.ID(&pr) != key.Name
	})
	if slices.ContainsFunc(out, func(pr tektonv1.PipelineRun) bool { return pr.Name == key.Name }) {
		return out, nil
	}
	first := tektonv1.PipelineRun{}
	err := r.live.Get(ctx, key, &first)
	if apierrors.IsNotFound(err) {
		return out, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading its first attempt: %w", err)
	}
	if run.Ours(&first) && run.ID(&first) == key.Name {
		out = append(out, first)
	}
	return out, nil
}

// deleteExpired deletes what has had its time. kept says that something has had it and holds results that are nowhere
// else.
func (r *Reconciler) deleteExpired(ctx context.Context, attempts []tektonv1.PipelineRun, last *tektonv1.PipelineRun,
	d due) (kept bool, err error) {
	if d.run || d.volume || d.pods && gatheredAt(last) != "" {
		claims, err := r.volumes.of(ctx, attempts)
		if err != nil {
			return false, err
		}
		if len(claims) > 0 {
			if kept, err = r.deleteExpiredVolumes(ctx, attempts, claims); err != nil {
				return false, err
			}
		}
	}
	if d.run && !kept && last.Labels[contract.LabelMatrix] == "" { // a matrix is whole as long as it is there
		return false, r.deleteRun(ctx, attempts)
	}
	if d.pods {
		for i := range attempts {
			if err := r.deletePods(ctx, r.client, &attempts[i]); err != nil {
				return kept, err
			}
		}
	}
	return kept, nil
}

// deleteExpiredVolumes deletes the volumes of a run, and the pods that hold them, unless they hold results that are
// nowhere else.
func (r *Reconciler) deleteExpiredVolumes(ctx context.Context, attempts []tektonv1.PipelineRun,
	claims []corev1.PersistentVolumeClaim) (kept bool, err error) {
	last := lastOf(attempts)
	if last.Annotations[contract.AnnotationVolumeDeleted] == "" {
		where := gatheredAt(last)
		if where == "" {
			where, err = r.saved(ctx, last)
		}
		if err != nil || where == "" {
			return err == nil, err
		}
		// Before the deed: whoever looks for its results is told where they are. A run that is marked has no volume, or
		// another look deletes it.
		if err := r.note(ctx, last, contract.AnnotationVolumeDeleted,
			r.clock.Now().UTC().Format(time.RFC3339)+": "+where); err != nil {
			return false, err
		}
	}
	return false, r.deleteVolumes(ctx, attempts, claims)
}

// gatheredAt says where the results of a run of a matrix are, "" where they were not gathered.
func gatheredAt(last *tektonv1.PipelineRun) string {
	claim, folder, there := strings.Cut(last.Annotations[contract.AnnotationResults], "/")
	if !there {
		return ""
	}
	return fmt.Sprintf("its results are on volume %s, in folder %s", claim, folder)
}

// note writes an annotation of a run.
func (r *Reconciler) note(ctx context.Context, pr *tektonv1.PipelineRun, key, value string) error {
	before := client.MergeFrom(pr.DeepCopy())
	metav1.SetMetaDataAnnotation(&pr.ObjectMeta, key, value)
	if err := r.client.Patch(ctx, pr, before); err != nil {
		return fmt.Errorf("marking run %q: %w", pr.Name, err)
	}
	return nil
}

// saved says where the results of a run are beside its volume, "" where they are nowhere else.
func (r *Reconciler) saved(ctx context.Context, last *tektonv1.PipelineRun) (string, error) {
	if at := last.Annotations[contract.AnnotationFetched]; at != "" {
		return "its results were fetched on " + at, nil
	}
	summary := &corev1.ConfigMap{}
	err := r.live.Get(ctx, types.NamespacedName{Namespace: last.Namespace, Name: contract.ResultConfigMap(run.ID(last))},
		summary)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading its summary: %w", err)
	}
	var b brief.Brief
	if json.Unmarshal([]byte(summary.Data[brief.Key]), &b) != nil || b.Pushed(run.Attempt(last)) == "" {
		return "", nil
	}
	return "its results are at " + b.Pushed(run.Attempt(last)), nil
}

// deleteVolumes begins with the pods: a volume stays as long as there is one that has it, also one that has ended.
func (r *Reconciler) deleteVolumes(ctx context.Context, attempts []tektonv1.PipelineRun,
	claims []corev1.PersistentVolumeClaim) error {
	for i := range attempts {
		if err := r.deletePods(ctx, r.client, &attempts[i]); err != nil {
			return err
		}
	}
	for i := range claims {
		if err := r.client.Delete(ctx, &claims[i],
			client.Preconditions{UID: &claims[i].UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting volume %q: %w", claims[i].Name, err)
		}
	}
	r.volumes.forget(attempts)
	r.log.Info("deleted the volume of an ended run", "namespace", attempts[0].Namespace, "run", run.ID(&attempts[0]),
		"volumes", len(claims))
	return nil
}

// deleteRun deletes the last attempt last: as long as it is there, the others are found.
func (r *Reconciler) deleteRun(ctx context.Context, attempts []tektonv1.PipelineRun) error {
	slices.SortFunc(attempts, func(a, b tektonv1.PipelineRun) int { return run.Attempt(&a) - run.Attempt(&b) })
	for i := range attempts {
		pr := &attempts[i]
		err := r.client.Delete(ctx, pr, client.Preconditions{UID: &pr.UID},
			client.PropagationPolicy(metav1.DeletePropagationBackground))
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting PipelineRun %q: %w", pr.Name, err)
		}
	}
	r.log.Info("deleted a run that had ended", "namespace", attempts[0].Namespace, "run", run.ID(&attempts[0]), "attempts",
		len(attempts))
	return nil
}

// deletePods deletes those of tasks of a PipelineRun that have ended. Tekton keeps what became of each.
func (r *Reconciler) deletePods(ctx context.Context, from client.Reader, pr *tektonv1.PipelineRun) error {
	var pods corev1.PodList
	if err := from.List(ctx, &pods, client.InNamespace(pr.Namespace),
		client.MatchingLabels{pipeline.PipelineRunLabelKey: pr.Name}); err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	deleted := 0
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed ||
			!pod.DeletionTimestamp.IsZero() {
			continue
		}
		if err := r.client.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting pod %q: %w", pod.Name, err)
		}
		deleted++
	}
	if deleted > 0 {
		r.log.Info("deleted pods of what had ended", "namespace", pr.Namespace, "pipelinerun", pr.Name, "pods", deleted)
	}
	return nil
}
