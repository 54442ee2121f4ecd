package queue_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/queue"
	"bflow.dev/bflow/queue/access"
	"bflow.dev/bflow/queue/queuetest"
	"bflow.dev/bflow/queue/release"
	"bflow.dev/bflow/queue/retry"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	utiltesting "sigs.k8s.io/kueue/pkg/util/testing"
)

const ns = queuetest.Namespace

// world is a cluster in memory: the real reconcilers and the real job framework, with Kueue, Tekton and the garbage
// collector acted by a few functions.
type world struct {
	*taskActor
	ours   client.Client // what the reconcilers use
	events *utiltesting.EventRecorder
	opts   queue.Options
	log    bytes.Buffer // what the reconcilers have said

	admission *queue.Admission
	release   *release.Reconciler
	retry     *retry.Reconciler

	gpus   int64
	lender *lender
}

func newWorld(t *testing.T, gpus int64) *world {
	t.Helper()
	builder := queuetest.Builder(t).
		WithStatusSubresource(&kueue.Workload{}, &tektonv1.PipelineRun{}).
		WithObjects(
			queuetest.RunNamespace(),
			&kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: "local"},
				Spec: kueue.ResourceFlavorSpec{NodeLabels: map[string]string{contract.LabelTarget: "local"}}},
			queuetest.MakeQueue("local", "local"),
		)
	gvk := tektonv1.SchemeGroupVersion.WithKind("PipelineRun")
	if err := jobframework.SetupWorkloadOwnerIndex(t.Context(), utiltesting.AsIndexer(builder), gvk); err != nil {
		t.Fatal(err)
	}
	w := &world{taskActor: &taskActor{World: queuetest.With(t, time.Now().Truncate(time.Second), builder.Build())},
		events: &utiltesting.EventRecorder{}, gpus: gpus,
		lender: &lender{lent: map[types.UID]bool{}}}
	w.with(w.Client)
	return w
}

// with makes the reconcilers anew, as a controller that has started again: over c they see and change the world.
func (w *world) with(c client.Client) {
	w.T.Helper()
	m := queuetest.Metrics(w.T)
	log := slog.New(slog.NewJSONHandler(&w.log, nil))
	var tick clock.Clock = w.Clock
	targets := target.NewRegistry(w.local(c))
	w.ours = c
	w.opts.Targets, w.opts.Access = targets, access.NewKeeper(c, targets)
	w.opts.Metrics, w.opts.Log, w.opts.Clock = m, log, tick
	w.admission = queue.NewAdmission(c, w.events, w.opts)
	w.admission.Leads(w.Clock.Now())
	w.release = release.NewReconciler(c, c, w.events, release.Options{Targets: targets, Access: w.opts.Access, Metrics: m,
		Log: log, Clock: tick})
	w.retry = retry.NewReconciler(c, c, w.events, m, log)
}

// local is the target where runs go. They get tokens there, as on a remote one.
func (w *world) local(live client.Client) target.Target {
	t := target.Local(live, nil)
	t.Accessor = w.lender
	return t
}

// lender is a target that remembers whose tokens are good.
type lender struct {
	lent map[types.UID]bool
	away bool // it cannot end any
}

func (l *lender) Access(ask target.Ask) (target.Grant, error) {
	l.lent[ask.UID] = true
	return target.Grant{Data: map[string][]byte{contract.KeyToken: []byte(ask.UID)}}, nil
}

func (l *lender) Revoke(_ context.Context, _ string, uid types.UID) error {
	if l.away {
		return errors.New("no route to host")
	}
	delete(l.lent, uid)
	return nil
}

func (l *lender) Forget(types.UID) {}

// submit makes a pending run as the compiler does.
func (w *world) submit(name string, edits ...func(*tektonv1.PipelineRun)) {
	w.T.Helper()
	pr := &tektonv1.PipelineRun{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: ns, UID: types.UID(name), CreationTimestamp: metav1.NewTime(w.Clock.Now()),
			Labels: map[string]string{contract.LabelPlanHash: "abc", contract.LabelQueue: "local",
				contract.LabelTarget: "local"},
			Annotations: map[string]string{contract.AnnotationRequests: `{"nvidia.com/gpu":"4"}`},
		},
		Spec: tektonv1.PipelineRunSpec{
			Status:      tektonv1.PipelineRunSpecStatusPending,
			PipelineRef: &tektonv1.PipelineRef{Name: "p"},
			Params: tektonv1.Params{{Name: contract.ParamRunID,
				Value: *tektonv1.NewStructuredValues("$(context.pipelineRun.name)")}},
		},
	}
	for _, edit := range edits {
		edit(pr)
	}
	w.Must(w.Client.Create(w.T.Context(), pr))
}

// reconcile lets every reconciler look at every run that there is, or was.
func (w *world) reconcile(names ...string) error {
	var runs tektonv1.PipelineRunList
	w.Must(w.Client.List(w.T.Context(), &runs))
	for _, pr := range runs.Items {
		if !slices.Contains(names, pr.Name) {
			names = append(names, pr.Name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		req := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: ns, Name: name}}
		for _, r := range []reconcile.Func{w.admission.Enter, w.admission.Go, w.release.Reconcile, w.retry.Reconcile} {
			if _, err := r(w.T.Context(), req); err != nil {
				return err
			}
		}
	}
	return nil
}

// settle lets everybody act until nothing changes any more.
func (w *world) settle(names ...string) {
	w.T.Helper()
	last := ""
	for range 60 {
		w.Must(w.reconcile(names...))
		w.act()
		w.Clock.Step(time.Second) // one run in a second
		now := w.snapshot(true)
		if now == last {
			return
		}
		last = now
	}
	w.T.Fatalf("it does not come to rest:\n%s", last)
}

func (w *world) act() {
	w.kueue()
	w.tekton()
	w.collect()
}

// held is the quota that Kueue counts as used.
func (w *world) held() int64 {
	var sum int64
	for _, wl := range w.Workloads() {
		if apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadFinished) ||
			!apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadQuotaReserved) ||
			len(wl.Status.ReclaimablePods) > 0 {
			continue
		}
		gpus := wl.Spec.PodSets[0].Template.Spec.Containers[0].Resources.Requests["nvidia.com/gpu"]
		sum += gpus.Value()
	}
	return sum
}

// kueue admits what fits, and lets finished Workloads go.
func (w *world) kueue() {
	for _, wl := range w.Workloads() {
		conditions := wl.Status.Conditions
		gpus := wl.Spec.PodSets[0].Template.Spec.Containers[0].Resources.Requests["nvidia.com/gpu"]
		if apimeta.IsStatusConditionTrue(conditions, kueue.WorkloadFinished) ||
			apimeta.IsStatusConditionTrue(conditions, kueue.WorkloadEvicted) ||
			apimeta.IsStatusConditionTrue(conditions, kueue.WorkloadQuotaReserved) || w.held()+gpus.Value() > w.gpus ||
			!wl.DeletionTimestamp.IsZero() {
			continue
		}
		wl.Status.Admission = &kueue.Admission{ClusterQueue: "local", PodSetAssignments: []kueue.PodSetAssignment{{
			Name:    wl.Spec.PodSets[0].Name,
			Flavors: map[corev1.ResourceName]kueue.ResourceFlavorReference{"nvidia.com/gpu": "local"},
		}}}
		for _, kind := range []string{kueue.WorkloadQuotaReserved, kueue.WorkloadAdmitted} {
			apimeta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{Type: kind, Status: "True", Reason: kind})
		}
		w.Must(w.Client.Status().Update(w.T.Context(), &wl))
	}
}

// evict takes the quota of a run away, as Kueue does.
func (w *world) evict(name, reason string) {
	w.T.Helper()
	for _, wl := range w.Workloads() {
		if owner := metav1.GetControllerOf(&wl); owner != nil && owner.Name == name {
			apimeta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{Type: kueue.WorkloadEvicted, Status: "True",
				Reason: reason, Message: "told so"})
			w.Must(w.Client.Status().Update(w.T.Context(), &wl))
			return
		}
	}
	w.T.Fatalf("run %s has no Workload", name)
}

// snapshot is the world in words: every object, or all but what a time and a count differ in.
func (w *world) snapshot(versions bool) string {
	var lines []string
	add := func(o client.Object, more ...any) {
		line := fmt.Sprintf("%T %s %v %v %v", o, o.GetName(), slices.Sorted(maps.Keys(o.GetAnnotations())), o.GetFinalizers(),
			o.GetDeletionTimestamp() != nil)
		if versions {
			line += " " + o.GetResourceVersion()
		}
		lines = append(lines, line+" "+fmt.Sprint(more...))
	}
	var runs tektonv1.PipelineRunList
	var tasks tektonv1.TaskRunList
	var pods corev1.PodList
	var secrets corev1.SecretList
	var deployments appsv1.DeploymentList
	for _, list := range []client.ObjectList{&runs, &tasks, &pods, &secrets, &deployments} {
		w.Must(w.Client.List(w.T.Context(), list))
	}
	for _, o := range runs.Items {
		add(&o, o.Spec.Status, o.IsDone(), run.State(&o))
	}
	for _, o := range tasks.Items {
		add(&o, o.IsDone(), o.Spec.Status)
	}
	for _, o := range pods.Items {
		add(&o)
	}
	for _, o := range secrets.Items {
		add(&o)
	}
	for _, o := range deployments.Items {
		add(&o)
	}
	for _, o := range w.Workloads() {
		var is []string
		for _, c := range o.Status.Conditions {
			is = append(is, c.Type+"="+string(c.Status))
		}
		slices.Sort(is)
		add(&o, is)
	}
	return strings.Join(lines, "\n")
}

func (w *world) secretExists(name string) bool {
	err := w.Client.Get(w.T.Context(), types.NamespacedName{Namespace: ns, Name: contract.TargetSecret(name)},
		&corev1.Secret{})
	if err != nil && !apierrors.IsNotFound(err) {
		w.T.Fatal(err)
	}
	return err == nil
}

func (w *world) saw(reason string) bool {
	return slices.ContainsFunc(w.events.RecordedEvents, func(e utiltesting.EventRecord) bool { return e.Reason == reason })
}
