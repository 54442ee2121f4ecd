package check

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"bflow.dev/bflow/queue/capacity"
	"bflow.dev/bflow/queue/lock/keeper"
	"bflow.dev/bflow/queue/metrics"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/workload/patching"
)

// ControllerName is in spec.controllerName of the AdmissionChecks that this controller answers.
const ControllerName = "bflow.dev/target"

// fieldOwner owns the state of the check in the status of Workloads.
const fieldOwner = "bflow-check"

// cacheCatchUpDelay is how long to wait for the cache to show what was just written.
const cacheCatchUpDelay = 20 * time.Millisecond

// answerReportDelay is for what passes by itself: nobody is told of it before. Thousands of runs would make it
// thousands of writes.
const answerReportDelay = 3 * time.Second

// Reconciler answers for all runs of one AdmissionCheck at once, so that each is judged beside the others. A request
// names the check.
type Reconciler struct {
	client  client.Client
	targets *target.Registry
	hub     string
	locks   *keeper.Keepers
	metrics *metrics.Metrics
	clock   clock.Clock
	written writings
	turns   turns
}

var _ reconcile.Reconciler = (*Reconciler)(nil)

// Reconcile answers for the runs of one AdmissionCheck.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	check := &kueue.AdmissionCheck{}
	if err := r.client.Get(ctx, req.NamespacedName, check); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if check.Spec.ControllerName != ControllerName {
		return ctrl.Result{}, nil
	}
	name, flavor, err := r.targetOf(ctx, check)
	if err != nil {
		return ctrl.Result{}, err
	}
	in, known := r.targets.Look(name)
	if err := r.setActive(ctx, check, name, known); err != nil || !known {
		return ctrl.Result{}, err
	}
	r.measure(name, in)
	defer r.turns.take(name)() // what is granted to one run of a target is taken from the next
	found, err := r.reservations(ctx, check.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	if r.written.stale(check.Name, found.waiting) {
		return ctrl.Result{RequeueAfter: cacheCatchUpDelay}, nil
	}
	if r.locks == nil {
		return r.judge(ctx, check.Name, name, in, flavor, found, nil)
	}
	door, err := r.locks.Door(ctx, name, found.claims())
	if err != nil {
		return ctrl.Result{}, err
	}
	defer door.Close() // what waits and what was granted is the next thing that the lock is made to fit
	return r.judge(ctx, check.Name, name, in, flavor, found, door)
}

// judge answers for the runs that wait at one target.
func (r *Reconciler) judge(ctx context.Context, check, name string, in target.Sight, flavor *kueue.ResourceFlavor,
	found reservations, door Door) (ctrl.Result, error) {
	if len(found.waiting) == 0 {
		return ctrl.Result{}, nil
	}
	sight, err := r.sight(ctx, name, in, flavor, found)
	if err != nil {
		return ctrl.Result{}, err
	}
	sight.Door = door
	return r.answer(ctx, check, found.waiting, sight)
}

// targetOf returns the target of a check and its flavor, which may not be there.
func (r *Reconciler) targetOf(ctx context.Context, check *kueue.AdmissionCheck) (string, *kueue.ResourceFlavor, error) {
	flavor := &kueue.ResourceFlavor{}
	if check.Spec.Parameters == nil {
		return "", flavor, nil
	}
	name := check.Spec.Parameters.Name
	if err := client.IgnoreNotFound(r.client.Get(ctx, client.ObjectKey{Name: name}, flavor)); err != nil {
		return "", nil, fmt.Errorf("reading the flavor of check %q: %w", check.Name, err)
	}
	if label := flavor.Spec.NodeLabels[contract.LabelTarget]; label != "" {
		name = label
	}
	return name, flavor, nil
}

// setActive tells Kueue whether anybody answers: a queue whose check is not active lets nothing start.
func (r *Reconciler) setActive(ctx context.Context, check *kueue.AdmissionCheck, target string, known bool) error {
	c := metav1.Condition{
		Type: kueue.AdmissionCheckActive, Status: metav1.ConditionTrue, Reason: "Active",
		Message: fmt.Sprintf("The controller answers for target %q", target), ObservedGeneration: check.Generation,
	}
	if !known {
		c.Status, c.Reason = metav1.ConditionFalse, "UnknownTarget"
		c.Message = fmt.Sprintf("The controller does not know target %q, which spec.parameters names", target)
	}
	before := check.DeepCopy()
	if !meta.SetStatusCondition(&check.Status.Conditions, c) {
		return nil
	}
	lock := client.MergeFromWithOptimisticLock{} // a list of conditions is replaced as a whole
	if err := r.client.Status().Patch(ctx, check, client.MergeFromWithOptions(before, lock)); err != nil {
		return fmt.Errorf("writing the condition of check %q: %w", check.Name, err)
	}
	return nil
}

func (r *Reconciler) sight(ctx context.Context, name string, in target.Sight, flavor *kueue.ResourceFlavor,
	found reservations) (Sight, error) {
	s := Sight{Target: name, Dirty: flavor.Annotations[contract.AnnotationDirty]}
	if in == nil {
		return s, nil
	}
	s.Reach = in.Reach()
	if !in.Ready() {
		return s, nil
	}
	owner, err := capacity.Owner(ctx, r.client, r.hub)
	if err != nil {
		return s, err
	}
	if s.Inventory, err = in.Inventory(ctx, owner); err != nil {
		return s, err
	}
	s.Assumed = assumed(found.granted, s.Inventory.Held)
	return s, nil
}

// answer writes what has changed. What the API server refuses of one run keeps no answer from the others: they were
// judged beside it, as if it had its own. A run that has changed meanwhile stops the rest, and so does an API server
// that is away.
func (r *Reconciler) answer(ctx context.Context, check string, waiting []reservation, s Sight) (ctrl.Result, error) {
	now := r.clock.Now()
	runs := make([]Waiting, len(waiting))
	for i, w := range waiting {
		runs[i] = waitingOf(w)
	}
	var result ctrl.Result
	var failed []error
	for i, d := range Decide(now, s, runs) {
		if told := runs[i].Reserved.Add(answerReportDelay); d.soon && now.Before(told) {
			d = Decision{State: d.State, Message: stateOf(waiting[i].workload, check).Message, Until: told}
		}
		if err := r.write(ctx, check, waiting[i].workload, d); err != nil {
			failed = append(failed, fmt.Errorf("answering for run %q: %w", runs[i].Run, err))
			if !isRefusal(err) {
				break
			}
			continue
		}
		if wait := d.Until.Sub(now); !d.Until.IsZero() && (result.RequeueAfter == 0 || wait < result.RequeueAfter) {
			result.RequeueAfter = wait
		}
	}
	if len(failed) > 0 {
		return ctrl.Result{}, errors.Join(failed...)
	}
	return result, nil
}

// isRefusal says whether the API server has judged this very answer, and would do so again: it is not valid, or a
// policy or a webhook is against it, also one that cannot be called.
func isRefusal(err error) bool {
	var answered apierrors.APIStatus
	if !errors.As(err, &answered) {
		return false
	}
	switch status := answered.Status(); {
	case status.Code == http.StatusConflict, status.Code == http.StatusTooManyRequests:
		return false
	case status.Code >= http.StatusInternalServerError:
		return strings.Contains(status.Message, "webhook")
	}
	return true
}

// mostSaid is the longest answer in bytes. The API server takes no more than 32 KiB, and people read less.
const mostSaid = 1000

// cut shortens an answer: what a run says of itself may be in it, whole.
func cut(text string) string {
	if len(text) <= mostSaid {
		return text
	}
	return strings.ToValidUTF8(text[:mostSaid], "") + "…"
}

func (r *Reconciler) write(ctx context.Context, check string, cached *kueue.Workload, d Decision) error {
	before := stateOf(cached, check)
	if before == nil {
		return errors.New("the check is gone from its status")
	}
	d.Message = cut(d.Message)
	if before.State == d.State && before.Message == d.Message {
		return nil
	}
	after := kueue.AdmissionCheckState{Name: before.Name, State: d.State, Message: d.Message}
	if before.State == d.State {
		after.LastTransitionTime = before.LastTransitionTime
	}
	if d.Requeue > 0 {
		seconds := int32(d.Requeue.Seconds())
		after.RequeueAfterSeconds = &seconds
	}
	version := cached.ResourceVersion
	// Strict: a Workload that has moved on since, to Admitted at worst, must not be answered on old knowledge.
	err := patching.PatchStatus(ctx, r.client, cached.DeepCopy(), fieldOwner, func(w *kueue.Workload) (bool, error) {
		return patching.SetAdmissionCheckState(&w.Status.AdmissionChecks, after, r.clock), nil
	})
	if err == nil {
		r.written.add(check, cached.UID, version)
		ctrl.LoggerFrom(ctx).Info("answered", "workload", client.ObjectKeyFromObject(cached).String(), "state", d.State,
			"message", d.Message)
	}
	return err
}

func (r *Reconciler) measure(name string, t target.Sight) {
	if r.metrics == nil || t == nil || t.Reach().Since.IsZero() {
		return
	}
	up := 0.0
	if t.Reach().Up {
		up = 1
	}
	r.metrics.TargetReachable.WithLabelValues(name).Set(up)
}
