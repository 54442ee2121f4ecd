package choose

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

// Reconciler chooses for all runs at once: each is judged beside the others.
type Reconciler struct {
	client  client.Client
	events  events.EventRecorder
	targets *target.Registry
	hub     string
	clock   clock.PassiveClock
}

var _ reconcile.Reconciler = (*Reconciler)(nil)

// NewReconciler makes the reconciler; hub is the identity of this one.
func NewReconciler(c client.Client, recorder events.EventRecorder, targets *target.Registry, hub string, clk clock.PassiveClock) *Reconciler {
	return &Reconciler{client: c, events: recorder, targets: targets, hub: hub, clock: clk}
}

// free is a run that may be moved, and its turn in whatever queue.
type free struct {
	run  *tektonv1.PipelineRun
	turn turn
}

// Reconcile moves the runs that are better off elsewhere, the first of them first.
func (r *Reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	var runs tektonv1.PipelineRunList
	var workloads kueue.WorkloadList
	for _, list := range []client.ObjectList{&runs, &workloads} {
		if err := r.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return ctrl.Result{}, fmt.Errorf("reading who waits: %w", err)
		}
	}
	movable := movables(runs.Items, workloads.Items)
	if len(movable) == 0 {
		return ctrl.Result{}, nil
	}
	w, again, err := r.read(ctx, runs.Items, workloads.Items)
	if err != nil {
		return ctrl.Result{}, err
	}
	var failed []error
	for _, f := range movable {
		err := r.settle(ctx, w, f)
		if apierrors.IsConflict(err) { // it changes just now
			again, err = gather, nil
		}
		failed = append(failed, client.IgnoreNotFound(err))
	}
	return ctrl.Result{RequeueAfter: again}, errors.Join(failed...)
}

// movables are the runs that may go to several targets and hold no quota, in their order.
func movables(runs []tektonv1.PipelineRun, workloads []kueue.Workload) []free {
	of := map[types.UID]*kueue.Workload{}
	for i := range workloads {
		if owner := metav1.GetControllerOfNoCopy(&workloads[i]); owner != nil {
			of[owner.UID] = &workloads[i]
		}
	}
	var out []free
	for i := range runs {
		pr := &runs[i]
		if !run.Several(pr) || run.Queue(pr) == "" || !pr.IsPending() || run.Cancelling(pr) || !pr.DeletionTimestamp.IsZero() {
			continue
		}
		mine := turn{since: pr.CreationTimestamp.Time, uid: pr.UID}
		if wl := of[pr.UID]; wl != nil {
			if reserved(wl) {
				continue
			}
			mine = turnOf(wl)
		}
		out = append(out, free{pr, mine})
	}
	slices.SortFunc(out, func(a, b free) int { return a.turn.compare(b.turn) })
	return out
}

func (r *Reconciler) settle(ctx context.Context, w *world, f free) error {
	places, err := w.places(f)
	if err != nil {
		r.events.Eventf(f.run, nil, corev1.EventTypeWarning, "InvalidTargets", "Choose", "%v", err)
		return nil
	}
	current := run.Queue(f.run)
	name, _, _ := strings.Cut(f.run.Annotations[contract.AnnotationChosen], ":")
	choice := Choose(current, name == current, places)
	if choice.Why == "" {
		return nil
	}
	if err := r.put(ctx, f.run, choice); err != nil {
		return err
	}
	w.move(f.turn, current, choice.Name)
	return nil
}

// places are the targets that a run allows.
func (w *world) places(f free) ([]Place, error) {
	names := wishes(f.run)
	selector := labels.Nothing()
	if text := f.run.Annotations[contract.AnnotationTargetSelector]; text != "" {
		var err error
		if selector, err = labels.Parse(text); err != nil {
			return nil, fmt.Errorf("reading annotation %s: %w", contract.AnnotationTargetSelector, err)
		}
	}
	var out []Place
	for _, s := range w.sites {
		wish := slices.Index(names, s.name)
		if wish < 0 && !selector.Matches(labels.Set(s.labels)) {
			continue
		}
		if wish < 0 {
			wish = len(names)
		}
		out = append(out, w.place(s, f.run, f.turn, wish))
	}
	return out, nil
}

// put writes the queue of a run; its Workload follows.
func (r *Reconciler) put(ctx context.Context, cached *tektonv1.PipelineRun, choice Choice) error {
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
	r.events.Eventf(pr, nil, corev1.EventTypeNormal, "TargetChosen", "Choose", "Goes to target %s: %s", choice.Name, choice.Why)
	ctrl.LoggerFrom(ctx).Info("target chosen", "namespace", pr.Namespace, "run", run.ID(pr), "target", choice.Name, "why", choice.Why)
	return nil
}

// gather is how long changes are gathered: what becomes free and who waits changes with every start.
const gather = time.Second
