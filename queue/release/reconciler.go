package release

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"bflow.dev/bflow/queue/gc"
	"bflow.dev/bflow/queue/metrics"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// ForceAfter is how long after its end a run keeps its quota though something of it cannot be removed.
	ForceAfter = 10 * time.Minute
	// recheckInterval is how often an ended run is looked at when no event comes: a watch may break.
	recheckInterval = 30 * time.Second
	// collectionInterval is the same once no pod of it is left: the garbage collector removes what made them a moment
	// later, and no event tells of that.
	collectionInterval = time.Second
	// taskPodGrace is how long a task pod may go on after its task is over, or was told to end by force.
	taskPodGrace = time.Minute
	// conflictRetryDelay is when a change that met another one is tried again.
	conflictRetryDelay = 200 * time.Millisecond
)

// Access takes the Secrets back with which runs reach their targets.
type Access interface {
	// End takes that of a run away for good.
	End(ctx context.Context, pr *tektonv1.PipelineRun) error
}

// Options of the release of runs.
type Options struct {
	Hub        string // identity of this hub, for the history of locks
	Access     Access
	Targets    *target.Registry
	Metrics    *metrics.Metrics
	Log        *slog.Logger
	Clock      clock.Clock
	ForceAfter time.Duration // 0 = ForceAfter
	// KeepServers is how long a server may stay after its run at most, however long its experiment wants it to.
	KeepServers time.Duration
}

// Reconciler releases runs.
type Reconciler struct {
	client client.Client // reads from caches
	live   client.Reader // reads past them
	events events.EventRecorder
	opts   Options
	born   func() time.Time
	lanes  *lanes
}

// NewReconciler makes the reconciler that releases runs.
func NewReconciler(c client.Client, live client.Reader, recorder events.EventRecorder, opts Options) *Reconciler {
	if opts.ForceAfter == 0 {
		opts.ForceAfter = ForceAfter
	}
	return &Reconciler{client: c, live: live, events: recorder, opts: opts, born: sync.OnceValue(opts.Clock.Now),
		lanes: newLanes()}
}

// Reconcile brings one run nearer to its release.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	r.born()
	pr := &tektonv1.PipelineRun{}
	if err := r.client.Get(ctx, req.NamespacedName, pr); err != nil {
		r.lanes.skip(req)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !run.Ours(pr) || !run.Started(pr) {
		r.lanes.skip(req)
		return ctrl.Result{}, nil
	}
	lane := run.Target(pr)
	if !r.lanes.enter(lane, req) {
		return ctrl.Result{RequeueAfter: recheckInterval}, nil // at the latest
	}
	defer r.lanes.leave(lane)
	result, err := r.advance(ctx, pr)
	switch {
	case apierrors.IsConflict(err): // somebody else changed it: look again at what it is now
		return ctrl.Result{RequeueAfter: conflictRetryDelay}, nil
	case apierrors.IsNotFound(err): // it went meanwhile
		return ctrl.Result{}, nil
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("releasing run %q: %w", pr.Name, err)
	}
	return result, nil
}

func (r *Reconciler) advance(ctx context.Context, pr *tektonv1.PipelineRun) (ctrl.Result, error) {
	if run.Released(pr) {
		return ctrl.Result{}, r.dropFinalizer(ctx, pr)
	}
	if run.Over(pr) {
		return r.end(ctx, pr)
	}
	t, err := r.opts.Targets.Find(run.Target(pr))
	if err != nil { // a target that is known no more may come back
		return ctrl.Result{RequeueAfter: recheckInterval}, nil
	}
	return ctrl.Result{}, r.free(ctx, t, pr)
}

// end takes the run from its end to its release.
func (r *Reconciler) end(ctx context.Context, pr *tektonv1.PipelineRun) (ctrl.Result, error) {
	work, err := r.work(ctx, pr)
	if err != nil {
		return ctrl.Result{}, err
	}
	if r.opts.Clock.Now().Before(r.keptUntil(pr, work)) {
		return r.keep(ctx, pr, work)
	}
	if err := r.keepNoMore(ctx, pr); err != nil {
		return ctrl.Result{}, err
	}
	t, err := r.opts.Targets.Find(run.Target(pr))
	if err != nil {
		return r.unseen(ctx, target.Unknown(run.Target(pr), err), pr, work, err)
	}
	left, err := r.clean(ctx, t, pr)
	if err != nil {
		return r.unseen(ctx, t, pr, work, err)
	}
	finishing, err := r.finish(ctx, pr, work)
	if err != nil {
		return ctrl.Result{}, err
	}
	waits := waitsFor(work, left, finishing)
	switch {
	case len(waits) == 0:
		err := r.release(ctx, t, pr, work, nil, false)
		if errors.Is(err, target.ErrNotYet) {
			return ctrl.Result{RequeueAfter: conflictRetryDelay}, nil
		}
		if owed := new(owedError); errors.As(err, &owed) {
			return r.unseen(ctx, t, pr, work, owed)
		}
		return ctrl.Result{}, err
	case r.overdue(pr, work) && finishing == "": // a task pod may be about to make something
		return ctrl.Result{}, r.release(ctx, t, pr, work, waits, gc.MayHoldDevices(left) || len(work.pods) > 0)
	case len(left) == 0 && len(work.pods) == 0: // only finish is awaited, which needs no device
		if err := r.markFreed(ctx, pr); err != nil {
			return ctrl.Result{}, err
		}
		fallthrough
	default:
		return ctrl.Result{RequeueAfter: recheckAfter(work, left)}, r.explain(ctx, pr, waits)
	}
}

// recheckAfter is when a run is looked at again of which something is left.
func recheckAfter(w work, left []gc.Object) time.Duration {
	isPod := func(o gc.Object) bool { return o.Kind == "Pod" }
	if len(left) == 0 || len(w.pods) > 0 || slices.ContainsFunc(left, isPod) {
		return recheckInterval
	}
	return collectionInterval
}

// clean deletes what is left of the run on its target, and returns it: it is gone only when it is not seen any more.
func (r *Reconciler) clean(ctx context.Context, t target.Target, pr *tektonv1.PipelineRun) ([]gc.Object, error) {
	left, err := r.leftovers(ctx, t, pr)
	if err != nil {
		return nil, err
	}
	return left, r.remove(ctx, t, pr, left)
}

// unseen is the end of a run on a target that cannot be cleaned: it does not answer, or refuses. The run keeps its
// quota for a time; then the target is marked, because nobody knows what is left there.
func (r *Reconciler) unseen(ctx context.Context, t target.Target, pr *tektonv1.PipelineRun, w work,
	cause error) (ctrl.Result, error) {
	waits := append(waitsFor(w, nil, ""), cause.Error())
	if r.overdue(pr, w) {
		return ctrl.Result{}, r.release(ctx, t, pr, w, waits, true)
	}
	return ctrl.Result{RequeueAfter: recheckInterval}, r.explain(ctx, pr, waits)
}

// endedAt is when we could begin to release the run: a controller that was away must not force at once what nobody has
// tried.
func (r *Reconciler) endedAt(pr *tektonv1.PipelineRun) time.Time {
	return later(run.EndedAt(pr), r.born())
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// overdue says whether the run is released by force: it had its time, or somebody does not want to wait. Its own tasks
// get a moment to end even then, because they may be about to make something.
func (r *Reconciler) overdue(pr *tektonv1.PipelineRun, w work) bool {
	since := r.opts.Clock.Since(later(r.endedAt(pr), r.keptUntil(pr, w)))
	return since >= r.opts.ForceAfter || run.Forced(pr) && (len(w.pods) == 0 || since >= taskPodGrace)
}
