package release

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

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
	// lookAgain is how often an ended run is looked at when no event comes: a watch may break.
	lookAgain = 30 * time.Second
	// soon is when a change that met another one is tried again.
	soon = 200 * time.Millisecond
)

// Options of the release of runs.
type Options struct {
	Hub        string // identity of this hub, for the history of locks
	Targets    *target.Registry
	Metrics    *metrics.Metrics
	Log        *slog.Logger
	Clock      clock.Clock
	ForceAfter time.Duration // 0 = ForceAfter
}

// Reconciler releases runs.
type Reconciler struct {
	client client.Client // reads from caches
	live   client.Reader // reads past them
	events events.EventRecorder
	opts   Options
	born   func() time.Time
}

// NewReconciler makes the reconciler that releases runs.
func NewReconciler(c client.Client, live client.Reader, recorder events.EventRecorder, opts Options) *Reconciler {
	if opts.ForceAfter == 0 {
		opts.ForceAfter = ForceAfter
	}
	return &Reconciler{client: c, live: live, events: recorder, opts: opts, born: sync.OnceValue(opts.Clock.Now)}
}

// Reconcile brings one run nearer to its release.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	r.born()
	pr := &tektonv1.PipelineRun{}
	if err := r.client.Get(ctx, req.NamespacedName, pr); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !run.Ours(pr) || !run.Started(pr) {
		return ctrl.Result{}, nil
	}
	result, err := r.advance(ctx, pr)
	switch {
	case apierrors.IsConflict(err): // somebody else changed it: look again at what it is now
		return ctrl.Result{RequeueAfter: soon}, nil
	case apierrors.IsNotFound(err): // it went meanwhile
		return ctrl.Result{}, nil
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("releasing run %q: %w", pr.Name, err)
	}
	return result, nil
}

func (r *Reconciler) advance(ctx context.Context, pr *tektonv1.PipelineRun) (ctrl.Result, error) {
	if run.Released(pr) {
		return ctrl.Result{}, r.letGo(ctx, pr)
	}
	t, err := r.opts.Targets.Find(run.Target(pr))
	if err != nil {
		return ctrl.Result{}, err
	}
	if !run.Over(pr) {
		return ctrl.Result{}, r.free(ctx, t, pr)
	}
	return r.end(ctx, t, pr)
}

// end takes the run from its end to its release.
func (r *Reconciler) end(ctx context.Context, t target.Target, pr *tektonv1.PipelineRun) (ctrl.Result, error) {
	work, err := r.work(ctx, pr)
	if err != nil {
		return ctrl.Result{}, err
	}
	left, err := leftovers(ctx, t, pr)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.remove(ctx, t, pr, left); err != nil {
		return ctrl.Result{}, err
	}
	finishing, err := r.finish(ctx, pr, work)
	if err != nil {
		return ctrl.Result{}, err
	}
	waits := waitsFor(work, left, finishing)
	switch {
	case len(waits) == 0:
		return ctrl.Result{}, r.release(ctx, t, pr, nil, false)
	case r.overdue(pr) && finishing == "":
		return ctrl.Result{}, r.release(ctx, t, pr, waits, holding(left))
	case len(left) == 0 && len(work.pods) == 0: // only finish is awaited, which needs no device
		if err := r.markFreed(ctx, pr); err != nil {
			return ctrl.Result{}, err
		}
		fallthrough
	default:
		return ctrl.Result{RequeueAfter: lookAgain}, r.explain(ctx, pr, waits)
	}
}

// endedAt is when we could begin to release the run: a controller that was away must not force at once what nobody has
// tried.
func (r *Reconciler) endedAt(pr *tektonv1.PipelineRun) time.Time {
	ended, born := run.EndedAt(pr), r.born()
	if ended.After(born) {
		return ended
	}
	return born
}

func (r *Reconciler) overdue(pr *tektonv1.PipelineRun) bool {
	return r.opts.Clock.Since(r.endedAt(pr)) >= r.opts.ForceAfter
}
