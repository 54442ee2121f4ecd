package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/util/api"
	"sigs.k8s.io/kueue/pkg/workload"
	"sigs.k8s.io/kueue/pkg/workload/evict"
)

const (
	// startGracePeriod is how long an admitted run may hold its quota while every try to let it start fails: as long
	// as the check of its target lets one wait for what may pass.
	startGracePeriod = 2 * time.Minute
	// repeatedStartGracePeriod is the same for a run that was sent back before: nobody waits long for what has failed.
	repeatedStartGracePeriod = 10 * time.Second
	// maxGapBetweenTries is the longest gap between two failed tries: what would have come of one between them is not
	// known, so the later one is the first again. Tries that fail are at most half a minute apart, unless the
	// controller was away or had too much to do.
	maxGapBetweenTries = time.Minute
	// backoffSeconds is how long a run that was sent back stays away, however often: it starts within a minute after
	// what kept it has gone.
	backoffSeconds = 45

	// startFailureReportDelay is how long the tries to let a run start fail before it says so: most pass at the second.
	startFailureReportDelay = 5 * time.Second

	// waitsForCredentials begins the reason of an admitted run that has no credentials of its target, cannotStart
	// that of one whose start fails.
	waitsForCredentials = "Admitted, and waits for credentials: "
	cannotStart         = "Admitted, and cannot be started: "
)

// failedStarts are the admitted runs that could not be let start, and since when. A process that has just begun to lead
// knows of none: it counts from its own first try, and not from an admission that nobody may have looked at.
type failedStarts struct {
	mu  sync.Mutex
	all map[types.NamespacedName]failedStart
}

type failedStart struct {
	run         types.UID
	first, last time.Time
}

// add notes a try that failed, and returns for how long they all have.
func (f *failedStarts) add(name types.NamespacedName, run types.UID, now time.Time) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		f.all = map[types.NamespacedName]failedStart{}
	}
	known := f.all[name]
	if known.run != run || now.Sub(known.last) > maxGapBetweenTries {
		known = failedStart{run: run, first: now}
	}
	known.last = now
	f.all[name] = known
	return now.Sub(known.first)
}

func (f *failedStarts) forget(name types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.all, name)
}

// bound sends an admitted run back to its queue that could not be let start for too long: it would hold its devices for
// ever, and nobody else could have them. result and err are what came of the try; err is returned for the next one.
func (a *Admission) bound(
	ctx context.Context, req ctrl.Request, pr *tektonv1.PipelineRun, result ctrl.Result, err error,
) (ctrl.Result, error) {
	why := strings.TrimPrefix(pr.Annotations[contract.AnnotationReason], waitsForCredentials)
	why = cmp.Or(strings.TrimPrefix(why, cannotStart), "it could not be started")
	switch {
	case !waits(pr) || err == nil && result.IsZero():
		a.failed.forget(req.NamespacedName)
		return result, err
	case err == nil && result.RequeueAfter <= conflictRetryDelay, err != nil && passing(err):
		// nothing is known of the next try
		return result, err
	case err != nil:
		why = strings.TrimPrefix(err.Error(), fmt.Sprintf("starting run %q: ", pr.Name))
	}
	wl, reading := a.workload(ctx, pr)
	if reading != nil || wl == nil || !admitted(wl) {
		a.failed.forget(req.NamespacedName)
		return result, err
	}
	failing := a.failed.add(req.NamespacedName, pr.UID, a.opts.Clock.Now())
	if failing >= startFailureReportDelay && err != nil {
		// what the run cannot be told, because that is refused too, its events say later
		_ = a.explain(ctx, pr, "StartFailed", api.TruncateEventMessage(cannotStart+why))
	}
	within := startGracePeriod
	if again := wl.Status.RequeueState; again != nil && ptr.Deref(again.Count, 0) > 0 {
		within = repeatedStartGracePeriod
	}
	if failing < within {
		return result, err
	}
	if sending := a.sendBack(ctx, pr, wl, within, why); sending != nil {
		return ctrl.Result{}, errors.Join(err, sending)
	}
	a.failed.forget(req.NamespacedName)
	return ctrl.Result{}, nil
}

// sendBack takes the quota of a run that holds nothing else. Package waiting writes onto the run what its Workload
// says.
func (a *Admission) sendBack(
	ctx context.Context, pr *tektonv1.PipelineRun, wl *kueue.Workload, failing time.Duration, why string,
) error {
	backoff := evict.WithCustomPrepare(func(wl *kueue.Workload) {
		workload.UpdateRequeueState(wl, backoffSeconds, backoffSeconds, a.opts.Clock)
	})
	// The reason is one of the two after which Kueue queues a Workload again once its time is over; by this one it goes
	// behind those that wait already.
	const reason = kueue.WorkloadEvictedByPodsReadyTimeout
	err := evict.Evict(ctx, a.client, a.events, wl, reason, why, "", a.opts.Clock, false, nil, nil, backoff)
	if err != nil {
		return fmt.Errorf("sending run %q back to its queue: %w", pr.Name, err)
	}
	a.opts.Log.Warn("run sent back to its queue",
		"namespace", pr.Namespace, "run", run.ID(pr), "attempt", run.Attempt(pr), "why", why)
	a.events.Eventf(pr, nil, corev1.EventTypeWarning, "SentBack", "Admit", "%s", api.TruncateEventMessage(fmt.Sprintf(
		"It was admitted and could not be started for %s, so others go first, and it is tried again later: %s",
		failing, why)))
	return nil
}

// passing says whether what failed tells nothing of this run: the API server is away or has too much to do, or somebody
// else has changed the run. A webhook that cannot be called is another thing: it may be one of this namespace alone.
func passing(err error) bool {
	var answered apierrors.APIStatus
	if !errors.As(err, &answered) {
		var network net.Error // also that the time for an answer is over
		return errors.As(err, &network) || errors.Is(err, context.Canceled)
	}
	status := answered.Status()
	if status.Code >= http.StatusInternalServerError {
		return !strings.Contains(status.Message, "webhook")
	}
	return status.Code == http.StatusTooManyRequests || status.Code == http.StatusConflict
}

// isLosingQuota says whether a run is to give its quota back, which waits for nothing.
func (a *Admission) isLosingQuota(ctx context.Context, pr *tektonv1.PipelineRun) (bool, error) {
	wl, err := a.workload(ctx, pr)
	if err != nil || wl == nil || !evict.IsEvicted(wl) {
		return false, err
	}
	return apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadQuotaReserved), nil
}
