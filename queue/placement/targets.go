package placement

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// OutageGrace is how long the API server of a target may fail to answer before its runs go elsewhere: as long as its
// check holds them.
const OutageGrace = 2 * time.Minute

// debounce is how long changes are gathered before runs are judged anew: a node that comes or goes takes many pods
// with it, and what is free and who waits changes with every start.
const debounce = time.Second

// TargetReconciler chooses the targets of all runs at once: each is judged beside the others.
type TargetReconciler struct {
	client  client.Client
	events  events.EventRecorder
	targets *target.Registry
	hub     string
	clock   clock.PassiveClock
}

var _ reconcile.Reconciler = (*TargetReconciler)(nil)

// NewTargetReconciler makes the reconciler; hub is the identity of this one.
func NewTargetReconciler(c client.Client, recorder events.EventRecorder, targets *target.Registry, hub string,
	clk clock.PassiveClock) *TargetReconciler {
	return &TargetReconciler{client: c, events: recorder, targets: targets, hub: hub, clock: clk}
}

// movable is a run that may be moved, and its turn in whatever queue.
type movable struct {
	run  *tektonv1.PipelineRun
	turn turn
}

// Reconcile moves the runs that are better off elsewhere, the first of them first.
func (r *TargetReconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	var runs tektonv1.PipelineRunList
	var workloads kueue.WorkloadList
	for _, list := range []client.ObjectList{&runs, &workloads} {
		if err := r.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return ctrl.Result{}, fmt.Errorf("reading who waits: %w", err)
		}
	}
	movables := listMovable(runs.Items, workloads.Items)
	if len(movables) == 0 {
		return ctrl.Result{}, nil
	}
	snap, again, err := r.readSnapshot(ctx, runs.Items, workloads.Items)
	if err != nil {
		return ctrl.Result{}, err
	}
	var failed []error
	for _, m := range movables {
		err := r.chooseFor(ctx, snap, m)
		if apierrors.IsConflict(err) { // it changes just now
			again, err = debounce, nil
		}
		failed = append(failed, client.IgnoreNotFound(err))
	}
	return ctrl.Result{RequeueAfter: again}, errors.Join(failed...)
}

// listMovable returns the runs that may go to several targets and hold no quota, in their order.
func listMovable(runs []tektonv1.PipelineRun, workloads []kueue.Workload) []movable {
	of := map[types.UID]*kueue.Workload{}
	for i := range workloads {
		if owner := metav1.GetControllerOfNoCopy(&workloads[i]); owner != nil {
			of[owner.UID] = &workloads[i]
		}
	}
	var out []movable
	for i := range runs {
		pr := &runs[i]
		if !run.Several(pr) || run.Queue(pr) == "" || !pr.IsPending() || run.Cancelling(pr) ||
			!pr.DeletionTimestamp.IsZero() {
			continue
		}
		mine := turn{since: pr.CreationTimestamp.Time, uid: pr.UID}
		if wl := of[pr.UID]; wl != nil {
			if hasQuota(wl) {
				continue
			}
			mine = turnOf(wl)
		}
		out = append(out, movable{pr, mine})
	}
	slices.SortFunc(out, func(a, b movable) int { return a.turn.compare(b.turn) })
	return out
}

// chooseFor judges one run, and puts it into another queue where it is better off there.
func (r *TargetReconciler) chooseFor(ctx context.Context, s *snapshot, m movable) error {
	places, err := s.places(m)
	if err != nil {
		r.events.Eventf(m.run, nil, corev1.EventTypeWarning, "InvalidTargets", "Choose", "%v", err)
		return nil
	}
	current := run.Queue(m.run)
	name, _, _ := strings.Cut(m.run.Annotations[contract.AnnotationChosen], ":")
	choice := Choose(current, name == current, places)
	if choice.Why == "" {
		return nil
	}
	if err := r.putIntoQueue(ctx, m.run, choice); err != nil {
		return err
	}
	s.move(m.turn, current, choice.Name)
	return nil
}

// places are the targets that a run allows.
func (s *snapshot) places(m movable) ([]Place, error) {
	names := wishes(m.run)
	selector := labels.Nothing()
	if text := m.run.Annotations[contract.AnnotationTargetSelector]; text != "" {
		var err error
		if selector, err = labels.Parse(text); err != nil {
			return nil, fmt.Errorf("reading annotation %s: %w", contract.AnnotationTargetSelector, err)
		}
	}
	var out []Place
	for _, at := range s.sites {
		wish := slices.Index(names, at.name)
		if wish < 0 && !selector.Matches(labels.Set(at.labels)) {
			continue
		}
		if wish < 0 {
			wish = len(names)
		}
		out = append(out, s.place(at, m.run, m.turn, wish))
	}
	return out, nil
}

// putIntoQueue writes the queue of a run; its Workload follows.
func (r *TargetReconciler) putIntoQueue(ctx context.Context, cached *tektonv1.PipelineRun, choice Choice) error {
	pr := cached.DeepCopy()
	before := client.MergeFromWithOptions(cached.DeepCopy(), client.MergeFromWithOptimisticLock{})
	if pr.Labels = maps.Clone(pr.Labels); pr.Labels[contract.LabelQueue] != "" {
		pr.Labels[contract.LabelQueue] = choice.Name
	} else {
		pr.Annotations[run.AnnotationQueue] = choice.Name
	}
	pr.Labels[contract.LabelTarget] = choice.Name
	pr.Annotations[contract.AnnotationChosen] = choice.Name + ": " + choice.Why
	if err := r.client.Patch(ctx, pr, before); err != nil {
		return fmt.Errorf("putting run %q into the queue of target %q: %w", pr.Name, choice.Name, err)
	}
	r.events.Eventf(pr, nil, corev1.EventTypeNormal, "TargetChosen", "Choose", "Goes to target %s: %s", choice.Name,
		choice.Why)
	ctrl.LoggerFrom(ctx).Info("target chosen", "namespace", pr.Namespace, "run", run.ID(pr), "target", choice.Name, "why",
		choice.Why)
	return nil
}
