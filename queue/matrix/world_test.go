package matrix

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/generator/shard"
	"bflow.dev/bflow/queue/matrix/state"
	"bflow.dev/bflow/queue/queuetest"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	tektonv1beta1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"knative.dev/pkg/apis"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

const ns = queuetest.Namespace

// world is a cluster in memory: the real reconciler and gate, with the queue, Tekton and the garbage collector acted
// by a few functions.
type world struct {
	*queuetest.World
	matrix *Reconciler
	gate   *Gate

	slots   int                       // runs that run at once, in each queue
	hold    bool                      // runs do not come to their end by themselves
	verdict func(point string) string // of a run that ends; "" = pass; "red" fails without one
	started map[string]int

	aggregated int // last tasks that our controller has started
}

// testCompiler is the compiler, as the main of the controller provides it.
type testCompiler struct{}

func (testCompiler) NewPoints(root string) Points { return compile.NewPoints(root) }

func (testCompiler) ChildName(parent string, n int) string { return compile.ChildName(parent, n) }

func makePlans(t testing.TB, n int, edits ...func(i int, p *runplan.RunPlan)) []*runplan.RunPlan {
	t.Helper()
	minutes := func(n int) runplan.Duration { return runplan.Duration(time.Duration(n) * time.Minute) }
	var plans []*runplan.RunPlan
	for i := range n {
		p := &runplan.RunPlan{APIVersion: runplan.APIVersion, Kind: runplan.Kind, Name: fmt.Sprintf("tiny-m%d", i+1),
			Experiment: "tiny", Index: i + 1,
			Axes:       []runplan.AxisValue{{Path: "load.rate", Value: i}},
			Deployment: runplan.Deployment{Engine: runplan.Engine{Kind: "sim"}, Replicas: 1, TensorParallel: 1},
			Target:     runplan.Target{Name: "local", Namespace: ns},
			Queue:      runplan.Queue{Name: "local", Requests: map[string]string{"bflow.dev/cluster-slot": "1"}},
			Timeouts: runplan.Timeouts{Pipeline: minutes(45), Tasks: minutes(30), Finally: minutes(15),
				Measurement: []runplan.Duration{minutes(2)}},
			Execution: runplan.Execution{Phases: runplan.Phases{Deploy: true, Cleanup: true}}}
		for _, edit := range edits {
			edit(i, p)
		}
		if err := runplan.Identify(p); err != nil {
			t.Fatal(err)
		}
		plans = append(plans, p)
	}
	return plans
}

// newWorld is a cluster where somebody has just submitted plans as a matrix.
func newWorld(t *testing.T, plans []*runplan.RunPlan) *world {
	t.Helper()
	builder := queuetest.Builder(t).
		WithObjects(queuetest.RunNamespace()).
		WithStatusSubresource(&tektonv1beta1.CustomRun{}, &tektonv1.PipelineRun{}, &tektonv1.TaskRun{}).
		WithIndex(&tektonv1.PipelineRun{}, Index, IndexOf)
	w := &world{World: queuetest.With(t, time.Now().Truncate(time.Second), builder.Build()), slots: 1,
		started: map[string]int{}}
	w.Client = interceptor.NewClient(w.Client, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			o.SetCreationTimestamp(metav1.NewTime(w.Clock.Now()))
			return c.Create(ctx, o, opts...)
		},
	})
	w.with(w.Client)
	m, err := compile.Matrix(func(yield func(*runplan.RunPlan, error) bool) {
		for _, p := range plans {
			if !yield(p, nil) {
				return
			}
		}
	}, compile.Options{})
	w.Must(err)
	for _, cm := range m.Plans {
		w.Must(w.Client.Create(t.Context(), cm))
	}
	m.Parent.Name, m.Parent.UID = "tiny", "parent"
	w.Must(w.Client.Create(t.Context(), m.Parent))
	w.customRun(m.Parent)
	return w
}

// customRun acts Tekton: the parent has begun.
func (w *world) customRun(parent *tektonv1.PipelineRun) {
	params := tektonv1beta1.Params{}
	for _, task := range parent.Spec.PipelineSpec.Tasks {
		for _, p := range task.Params {
			params = append(params, tektonv1beta1.Param{Name: p.Name,
				Value: *tektonv1beta1.NewStructuredValues(strings.ReplaceAll(p.Value.StringVal,
					"$(tasks.begin.results.mlflow-run-id)", "ml7"))})
		}
	}
	yes := true
	w.Must(w.Client.Create(w.T.Context(), &tektonv1beta1.CustomRun{
		ObjectMeta: metav1.ObjectMeta{Name: "tiny-children", Namespace: ns, UID: "matrix", Labels: parent.Labels,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "tekton.dev/v1", Kind: "PipelineRun", Name: parent.Name,
				UID: parent.UID, Controller: &yes}}},
		Spec: tektonv1beta1.CustomRunSpec{Params: params, CustomRef: &tektonv1beta1.TaskRef{
			APIVersion: contract.MatrixAPIVersion, Kind: contract.MatrixKind}},
	}))
}

// with makes the controller anew, as one that has started again.
func (w *world) with(c client.Client) {
	w.matrix = NewReconciler(c, c, testCompiler{}, events.NewFakeRecorder(1000), w.Clock, slog.New(slog.DiscardHandler))
	w.gate = NewGate(c)
}

func (w *world) reconcile() error {
	_, err := w.matrix.Reconcile(w.T.Context(), ctrl.Request{
		NamespacedName: types.NamespacedName{Namespace: ns, Name: "tiny-children"}})
	return err
}

func (w *world) runs() []tektonv1.PipelineRun {
	var all tektonv1.PipelineRunList
	w.Must(w.Client.List(w.T.Context(), &all, client.HasLabels{contract.LabelMatrix}))
	slices.SortFunc(all.Items, byName)
	return all.Items
}

func (w *world) parent() *tektonv1.PipelineRun { return w.Run("tiny") }

// cr is the matrix, nil when it is gone.
func (w *world) cr() *tektonv1beta1.CustomRun {
	w.T.Helper()
	cr := &tektonv1beta1.CustomRun{}
	err := w.Client.Get(w.T.Context(), types.NamespacedName{Namespace: ns, Name: "tiny-children"}, cr)
	if apierrors.IsNotFound(err) {
		return nil
	}
	w.Must(err)
	return cr
}

func (w *world) state() *state.State {
	w.T.Helper()
	s, err := state.Read(w.cr().Status.ExtraFields.Raw, 0)
	w.Must(err)
	return s
}

func (w *world) editStatus(name string, change func(*tektonv1.PipelineRun)) {
	w.T.Helper()
	pr := w.Run(name)
	before := client.MergeFrom(pr.DeepCopy())
	change(pr)
	w.Must(w.Client.Status().Patch(w.T.Context(), pr, before))
}

// act lets everybody else do what is theirs, once.
func (w *world) act() {
	w.tekton()
	runs, running := w.runs(), map[string]int{}
	for _, pr := range runs {
		if run.Holding(&pr) {
			running[run.Queue(&pr)]++
		}
	}
	for _, pr := range runs {
		w.one(&pr, running)
	}
	w.lastTask()
	w.collect()
	w.Clock.Step(6 * time.Second)
}

// tekton tells a matrix of the end of its parent.
func (w *world) tekton() {
	cr := w.cr()
	if cr == nil || cr.IsCancelled() || !run.Stopping(w.parentOrNone()) {
		return
	}
	before := client.MergeFrom(cr.DeepCopy())
	cr.Spec.Status = tektonv1beta1.CustomRunSpecStatusCancelled
	w.Must(w.Client.Patch(w.T.Context(), cr, before))
}

// lastTask lets a last task that our controller has started come to its end.
func (w *world) lastTask() {
	task := &tektonv1.TaskRun{}
	err := w.Client.Get(w.T.Context(), types.NamespacedName{Namespace: ns, Name: "tiny-aggregate-again"}, task)
	if apierrors.IsNotFound(err) || task.IsDone() {
		return
	}
	w.Must(err)
	if w.parentOrNone().UID == "" {
		w.T.Error("the last task runs and its matrix is gone")
	}
	if task.Labels[contract.LabelToken] != contract.TokenSubmit {
		w.T.Error("the last task asks for no token, for which its pod waits")
	}
	w.aggregated++
	task.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: corev1.ConditionTrue,
		Reason: "Succeeded"})
	w.Must(w.Client.Status().Update(w.T.Context(), task))
}

func (w *world) parentOrNone() *tektonv1.PipelineRun {
	pr := &tektonv1.PipelineRun{}
	_ = w.Client.Get(w.T.Context(), types.NamespacedName{Namespace: ns, Name: "tiny"}, pr)
	return pr
}

// one lets a run live; running says how many do in each queue.
func (w *world) one(pr *tektonv1.PipelineRun, running map[string]int) {
	switch {
	case run.Over(pr) && run.Holding(pr): // released
		running[run.Queue(pr)]--
		w.EditRun(pr.Name, func(pr *tektonv1.PipelineRun) {
			annotate(pr, contract.AnnotationReleased, "now")
			pr.Finalizers = slices.DeleteFunc(pr.Finalizers, func(f string) bool { return f == contract.Finalizer })
		})
	case run.Over(pr):
	case pr.IsCancelled() || pr.IsGracefullyCancelled():
		w.end(pr.Name, "Cancelled")
	case pr.IsPending() && running[run.Queue(pr)] < w.slots && w.gate.MayStart(w.T.Context(), pr) == nil:
		running[run.Queue(pr)]++
		w.started[pr.Name]++
		w.EditRun(pr.Name, func(pr *tektonv1.PipelineRun) {
			annotate(pr, contract.AnnotationAdmitted, "now")
			pr.Finalizers = append(pr.Finalizers, contract.Finalizer)
			pr.Spec.Status = ""
		})
	case !pr.IsPending() && !w.hold:
		w.end(pr.Name, "")
	}
}

// end lets a run come to its end: cancelled, or as its verdict says.
func (w *world) end(name, reason string) {
	word := "pass"
	if w.verdict != nil {
		word = cmp.Or(w.verdict(name), word)
	}
	w.editStatus(name, func(pr *tektonv1.PipelineRun) {
		c := &apis.Condition{Type: apis.ConditionSucceeded, Status: corev1.ConditionTrue, Reason: "Succeeded"}
		switch {
		case reason != "":
			c.Status, c.Reason = corev1.ConditionFalse, reason
		case word == "red":
			c.Status, c.Reason = corev1.ConditionFalse, "Failed"
		default:
			pr.Status.Results = []tektonv1.PipelineRunResult{{Name: contract.ResultVerdict,
				Value: *tektonv1.NewStructuredValues(word)}}
		}
		began, now := metav1.NewTime(w.Clock.Now().Add(-time.Minute)), metav1.NewTime(w.Clock.Now())
		pr.Status.StartTime, pr.Status.CompletionTime = &began, &now
		pr.Status.SetCondition(c)
	})
}

// collect acts the garbage collector: the matrix goes after its parent, and its runs after it.
func (w *world) collect() {
	cr := w.cr()
	if cr != nil && cr.DeletionTimestamp.IsZero() && w.parentOrNone().UID == "" {
		w.Must(w.Client.Delete(w.T.Context(), cr))
	}
	if cr != nil {
		return
	}
	for _, pr := range w.runs() {
		if pr.DeletionTimestamp.IsZero() {
			w.Must(client.IgnoreNotFound(w.Client.Delete(w.T.Context(), &pr)))
		}
	}
}

// settle lets everybody act until nothing changes any more.
func (w *world) settle() {
	w.T.Helper()
	last := ""
	for range 300 {
		w.Must(w.reconcile())
		w.act()
		if now := w.snapshot(); now == last {
			return
		} else {
			last = now
		}
	}
	w.T.Fatalf("it does not come to rest:\n%s", last)
}

// snapshot is the world in words, without times.
func (w *world) snapshot() string {
	var lines []string
	for _, pr := range append(w.runs(), *w.parentOrNone()) {
		lines = append(lines, fmt.Sprint(pr.Name, pr.Spec.Status, pr.Finalizers, pr.IsDone(), pr.DeletionTimestamp != nil,
			slices.Sorted(maps.Keys(pr.Annotations)), pr.Labels[contract.LabelMatrix]))
	}
	if cr := w.cr(); cr != nil {
		s := w.state()
		lines = append(lines, fmt.Sprint(cr.Finalizers, cr.Spec.Status, s.Outcomes, s.Counts, s.Notes, s.Stopped, cr.IsDone(),
			cr.IsSuccessful(), cr.Status.Results))
	}
	return strings.Join(lines, "\n")
}

// param changes what the matrix asks for.
func (w *world) param(name, value string) {
	w.T.Helper()
	cr := w.cr()
	for i := range cr.Spec.Params {
		if cr.Spec.Params[i].Name == name {
			cr.Spec.Params[i].Value = *tektonv1beta1.NewStructuredValues(value)
		}
	}
	w.Must(w.Client.Update(w.T.Context(), cr))
}

// pieces are the ConfigMaps with points.
func (w *world) pieces() []corev1.ConfigMap {
	w.T.Helper()
	var all corev1.ConfigMapList
	w.Must(w.Client.List(w.T.Context(), &all, client.MatchingLabels{contract.LabelRole: contract.RoleMatrix}))
	return all.Items
}

// damage changes the points.
func (w *world) damage() {
	for _, cm := range w.pieces() {
		for key, value := range cm.BinaryData {
			var packed bytes.Buffer
			z := gzip.NewWriter(&packed)
			_, err := z.Write(value)
			w.Must(errors.Join(err, z.Close()))
			cm.BinaryData[key] = packed.Bytes()
		}
		w.Must(w.Client.Update(w.T.Context(), &cm))
	}
}

// changePoint changes the run of one point, as somebody does who makes a matrix without the compiler.
func (w *world) changePoint(i int, change func(*tektonv1.PipelineRun)) {
	w.T.Helper()
	var pieces []shard.Piece
	for _, cm := range w.pieces() {
		piece, err := compile.ReadPiece(&cm)
		w.Must(err)
		pieces = append(pieces, piece)
	}
	points, err := shard.Read(pieces[0].Header.Root, pieces)
	w.Must(err)
	out := shard.NewWriter(0)
	for n := range points.Len() {
		point, err := points.Point(n)
		w.Must(err)
		if n == i {
			pr := &tektonv1.PipelineRun{}
			w.Must(json.Unmarshal(point.Run, pr))
			change(pr)
			point.Run, err = json.Marshal(pr)
			w.Must(err)
		}
		w.Must(out.Add(point))
	}
	pieces, err = out.Close()
	w.Must(err)
	for n, piece := range pieces {
		header, err := json.Marshal(piece.Header)
		w.Must(err)
		w.Must(w.Client.Create(w.T.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: contract.PlansConfigMap(piece.Header.Root, n), Namespace: ns},
			Data:       map[string]string{"header.json": string(header)},
			BinaryData: map[string][]byte{"points.gz": piece.Packed}}))
	}
	w.param(contract.ParamPlans, pieces[0].Header.Root)
}

// hidePoints deletes the points and returns them.
func (w *world) hidePoints() []corev1.ConfigMap {
	all := w.pieces()
	for _, cm := range all {
		w.Must(w.Client.Delete(w.T.Context(), &cm))
	}
	return all
}

var errKilled = errors.New("killed")

// killer lets n writes through and then none, as a process that dies: the answer to the last one is lost.
func killer(c client.WithWatch, n int, count *int) client.Client {
	around := func(do func() error) error {
		if *count++; *count > n {
			return errKilled
		}
		err := do()
		if *count >= n {
			return errKilled
		}
		return err
	}
	return interceptor.NewClient(c, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return around(func() error { return c.Create(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch,
			opts ...client.PatchOption) error {
			return around(func() error { return c.Patch(ctx, o, p, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return around(func() error { return c.Delete(ctx, o, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch,
			opts ...client.SubResourcePatchOption) error {
			return around(func() error { return c.SubResource(sub).Patch(ctx, o, p, opts...) })
		},
	})
}
