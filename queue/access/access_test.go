package access

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"bflow.dev/bflow/queue/queuetest"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/pkg/apis"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

// giver hands out what a test says.
type giver struct {
	grant     target.Grant
	err       error
	asked     []target.Ask
	forgotten []types.UID
	revoked   []types.UID
	refuses   error // to revoke any
}

func (g *giver) Revoke(_ context.Context, _ string, uid types.UID) error {
	if g.refuses == nil {
		g.revoked = append(g.revoked, uid)
	}
	return g.refuses
}

func (g *giver) Access(a target.Ask) (target.Grant, error) {
	g.asked = append(g.asked, a)
	return g.grant, g.err
}

func (g *giver) Forget(uid types.UID) { g.forgotten = append(g.forgotten, uid) }

type world struct {
	*queuetest.World
	giver  *giver
	keeper *Keeper
	r      *Reconciler
}

func newWorld(t *testing.T, pr *tektonv1.PipelineRun) *world {
	t.Helper()
	made := 0
	c := interceptor.NewClient(queuetest.Builder(t).WithObjects(pr).Build(), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			made++
			o.SetUID(types.UID(fmt.Sprint("made-", made)))
			return c.Create(ctx, o, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			// the fake one looks at no UID
			there, asked := &corev1.Secret{}, (&client.DeleteOptions{}).ApplyOptions(opts)
			if err := c.Get(ctx, client.ObjectKeyFromObject(o), there); err == nil && asked.Preconditions != nil &&
				*asked.Preconditions.UID != there.UID {
				return apierrors.NewConflict(corev1.Resource("secrets"), o.GetName(), errors.New("another UID"))
			}
			return c.Delete(ctx, o)
		},
	})
	w := &world{World: queuetest.With(t, time.Unix(1000, 0), c), giver: &giver{}}
	w.restart()
	return w
}

// restart is a controller that remembers nothing.
func (w *world) restart() {
	targets := target.NewRegistry(target.Local(w.Client, nil), target.Target{Name: "far", Accessor: w.giver})
	w.keeper = NewKeeper(w.Client, targets)
	w.r = NewReconciler(w.Client, w.keeper, w.Clock)
}

// token gives one that lives for a while.
func (w *world) token(text string, life time.Duration) {
	w.giver.grant = target.Grant{Data: map[string][]byte{contract.KeyToken: []byte(text)},
		Expires: w.Clock.Now().Add(life)}
}

func (w *world) look() time.Duration {
	w.T.Helper()
	r, err := w.r.Reconcile(w.T.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "bench", Name: "r"}})
	if err != nil {
		w.T.Fatal(err)
	}
	return r.RequeueAfter
}

// holds is the token that lies beside the run, and the version of its Secret.
func (w *world) holds() (token, version string) {
	w.T.Helper()
	s := &corev1.Secret{}
	err := w.Client.Get(w.T.Context(), client.ObjectKey{Namespace: "bench", Name: contract.TargetSecret("r")}, s)
	if apierrors.IsNotFound(err) {
		return "", ""
	}
	if err != nil {
		w.T.Fatal(err)
	}
	if len(s.OwnerReferences) != 1 || s.OwnerReferences[0].UID != "u" {
		w.T.Errorf("it does not go with the run: %v", s.OwnerReferences)
	}
	return string(s.Data[contract.KeyToken]), s.ResourceVersion + string(s.UID)
}

func makeRun(at string, annotations ...string) *tektonv1.PipelineRun {
	pr := queuetest.MakeRun("r", queuetest.InQueue(at))
	pr.UID = "u"
	for _, a := range annotations {
		pr.Annotations[contract.Prefix+a] = "then"
	}
	pr.Spec.Timeouts = &tektonv1.TimeoutFields{Pipeline: &metav1.Duration{Duration: 3 * time.Hour}}
	return pr
}

func TestTheWayOfARunIsKeptValid(t *testing.T) {
	pr := makeRun("far", "admitted")
	w := newWorld(t, pr)
	w.token("one", 4*time.Hour)
	if _, err := w.keeper.Put(t.Context(), "far", pr); err != nil {
		t.Fatal(err)
	}
	if a := w.giver.asked[0]; a.Namespace != "bench" || a.UID != "u" || a.For != 4*time.Hour {
		t.Errorf("asked for %+v", a)
	}
	_, before := w.holds()
	if after := w.look(); after != 2*time.Hour {
		t.Errorf("looked at again after %s", after)
	}
	if _, now := w.holds(); now != before {
		t.Error("what lies there was written again")
	}
	w.giver.err = target.ErrNotYet
	if after := w.look(); after != credentialsPollInterval {
		t.Errorf("while another is made: again after %s", after)
	}
	w.giver.err = errors.New("refused")
	if after := w.look(); after != credentialsRetryDelay {
		t.Errorf("when none can be made: again after %s", after)
	}
	w.Clock.Step(2 * time.Hour)
	w.giver.err = nil
	w.token("two", time.Hour)
	if after := w.look(); after != 30*time.Minute {
		t.Errorf("a server that gives less: again after %s", after)
	}
	if token, _ := w.holds(); token != "two" {
		t.Errorf("beside the run lies %q", token)
	}
}

// TestAControllerThatStartsAgainWritesWhatItCannotRead heals a write that was cut off as well.
func TestAControllerThatStartsAgainWritesWhatItCannotRead(t *testing.T) {
	w := newWorld(t, makeRun("far", "admitted"))
	w.token("one", time.Hour)
	w.restart()
	w.look()
	if token, _ := w.holds(); token != "one" {
		t.Errorf("beside the run lies %q", token)
	}
}

// TestARenewalThatMeetsTheReleaseLeavesNothing: the token would be good for hours, beside a run that is over.
func TestARenewalThatMeetsTheReleaseLeavesNothing(t *testing.T) {
	pr := makeRun("far", "admitted")
	w := newWorld(t, pr)
	w.token("one", 4*time.Hour)
	begun, goOn, written := make(chan struct{}), make(chan struct{}), make(chan error)
	slow := interceptor.NewClient(w.Client, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			close(begun)
			<-goOn
			return c.Create(ctx, o, opts...)
		},
	})
	keeper := NewKeeper(slow, w.keeper.targets)
	go func() { _, err := keeper.Put(t.Context(), "far", pr); written <- err }()
	<-begun
	if keeper.of(pr).mu.TryLock() {
		t.Error("its release may come between")
	}
	close(goOn)
	if err := <-written; err != nil {
		t.Error(err)
	}
	if err := keeper.End(t.Context(), pr); err != nil {
		t.Error(err)
	}
	if token, _ := w.holds(); token != "" {
		t.Errorf("beside the run lies %q", token)
	}
	if _, err := keeper.Put(t.Context(), "far", pr); !errors.Is(err, errOver) {
		t.Errorf("written after its end: %v", err)
	}
}

// TestAWayThatWasWrittenTooLateIsTakenAway: a controller that has just started believed its cache, in which the run was
// not released yet.
func TestAWayThatWasWrittenTooLateIsTakenAway(t *testing.T) {
	pr := makeRun("far", "admitted")
	w := newWorld(t, pr)
	w.token("one", 4*time.Hour)
	w.look()
	if token, _ := w.holds(); token != "one" {
		t.Fatalf("beside the run lies %q", token)
	}
	w.release()
	w.giver.refuses = errors.New("no route to host")
	if _, err := w.r.Reconcile(t.Context(), ctrl.Request{
		NamespacedName: client.ObjectKey{Namespace: "bench", Name: "r"}}); !errors.Is(err, w.giver.refuses) {
		t.Errorf("a token that cannot be ended is forgotten: %v", err)
	}
	w.giver.refuses = nil
	w.look()
	if token, _ := w.holds(); token != "" || len(w.giver.revoked) != 1 {
		t.Errorf("beside the run that was released lies %q; revoked: %v", token, w.giver.revoked)
	}
}

// cancelled is a run that was over before it was let start.
func cancelled(pr *tektonv1.PipelineRun) *tektonv1.PipelineRun {
	pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelled
	pr.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: "False", Reason: "Cancelled"})
	return pr
}

// TestAWayThatWasWrittenForARunThatNeverStartedIsTakenAway: between the Secret and the start lies a patch, and it was
// cancelled there.
func TestAWayThatWasWrittenForARunThatNeverStartedIsTakenAway(t *testing.T) {
	for _, row := range []struct {
		name, at string
		between  func(w *world)
	}{
		{"by this controller", "far", func(*world) {}},
		{"on the hub", contract.TargetLocal, func(*world) {}},
		{"by a controller that has ended", "far", func(w *world) { w.restart() }},
	} {
		t.Run(row.name, func(t *testing.T) {
			pr := makeRun(row.at)
			w := newWorld(t, pr)
			w.token("one", time.Hour)
			if _, err := w.keeper.Put(t.Context(), row.at, pr); err != nil {
				t.Fatal(err)
			}
			if _, version := w.holds(); version == "" {
				t.Fatal("no Secret was written")
			}
			row.between(w)
			old := pr.DeepCopy()
			if err := w.Client.Update(t.Context(), cancelled(pr)); err != nil {
				t.Fatal(err)
			}
			if !ends().Create(event.CreateEvent{Object: pr}) {
				t.Error("a controller that starts looks at no run that is over")
			}
			w.look()
			if _, version := w.holds(); version != "" {
				t.Error("the Secret lies beside a run that is over")
			}
			if _, err := w.keeper.Put(t.Context(), row.at, old); !errors.Is(err, errOver) {
				t.Errorf("written by who has not seen the end: %v", err)
			}
			w.look()
			if len(w.giver.revoked) > 1 {
				t.Errorf("revoked again: %v", w.giver.revoked)
			}
		})
	}
}

// TestWhatARunNeverNeededIsTakenBack: its target was asked just before somebody cancelled it, or deleted it.
func TestWhatARunNeverNeededIsTakenBack(t *testing.T) {
	for _, row := range []struct {
		name string
		end  func(w *world, pr *tektonv1.PipelineRun) error
	}{
		{"cancelled", func(w *world, pr *tektonv1.PipelineRun) error {
			return w.Client.Update(w.T.Context(), cancelled(pr))
		}},
		{"deleted", func(w *world, pr *tektonv1.PipelineRun) error { return w.Client.Delete(w.T.Context(), pr) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			pr := makeRun("far")
			w := newWorld(t, pr)
			w.token("one", time.Hour)
			if err := w.keeper.Ready("far", pr); err != nil {
				t.Fatal(err)
			}
			there := &tektonv1.PipelineRun{}
			if err := errors.Join(w.Client.Get(t.Context(), client.ObjectKeyFromObject(pr), there),
				row.end(w, there)); err != nil {
				t.Fatal(err)
			}
			w.giver.refuses = errors.New("no route to host")
			if after := w.look(); after != credentialsRetryDelay {
				t.Errorf("a target that is away is asked again after %s", after)
			}
			w.giver.refuses = nil
			w.look()
			if len(w.giver.revoked) != 1 || w.giver.revoked[0] != "u" {
				t.Errorf("revoked: %v", w.giver.revoked)
			}
		})
	}
}

// TestARunThatGoesElsewhereLeavesNoTokenBehind: it was admitted to one target, could not be let start, and is
// admitted to another.
func TestARunThatGoesElsewhereLeavesNoTokenBehind(t *testing.T) {
	pr := makeRun("far")
	w := newWorld(t, pr)
	w.token("one", time.Hour)
	if _, err := w.keeper.Put(t.Context(), "far", pr); err != nil {
		t.Fatal(err)
	}
	w.giver.refuses = errors.New("no route to host")
	for range 2 {
		if _, err := w.keeper.Put(t.Context(), contract.TargetLocal, pr); err != nil {
			t.Errorf("a target that is away holds the start elsewhere up: %v", err)
		}
	}
	w.giver.refuses = nil
	for range 2 {
		if _, err := w.keeper.Put(t.Context(), contract.TargetLocal, pr); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.giver.revoked) != 1 || len(w.giver.forgotten) != 1 {
		t.Errorf("revoked %v, forgotten %v, want the run once", w.giver.revoked, w.giver.forgotten)
	}
}

// TestTheWayOfTheNextAttemptStays: it has the name of the one before.
func TestTheWayOfTheNextAttemptStays(t *testing.T) {
	w := newWorld(t, makeRun("far", "admitted"))
	w.token("one", 4*time.Hour)
	w.look()
	next := w.keeper.targets
	old := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: contract.TargetSecret("r")}}
	if err := w.Client.Delete(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	second := makeRun("far", "admitted")
	second.Name, second.Labels[contract.LabelRun] = "r-a2", "r"
	w.token("two", 4*time.Hour)
	if _, err := NewKeeper(w.Client, next).Put(t.Context(), "far", second); err != nil {
		t.Fatal(err)
	}
	w.release()
	w.look()
	if token, _ := w.holds(); token != "two" {
		t.Errorf("beside the next attempt lies %q", token)
	}
}

// release writes down that the run is released.
func (w *world) release() {
	w.T.Helper()
	pr := &tektonv1.PipelineRun{}
	if err := w.Client.Get(w.T.Context(), client.ObjectKey{Namespace: "bench", Name: "r"}, pr); err != nil {
		w.T.Fatal(err)
	}
	pr.Annotations[contract.AnnotationReleased] = "then"
	if err := w.Client.Update(w.T.Context(), pr); err != nil {
		w.T.Fatal(err)
	}
}

func TestWhoNeedsNoCare(t *testing.T) {
	for _, row := range []struct {
		name   string
		pr     *tektonv1.PipelineRun
		forget bool
	}{
		{"a run that waits", makeRun("far"), true},
		{"a run that was released", makeRun("far", "admitted", "released"), true},
		{"a run on the hub", makeRun("local", "admitted"), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, row.pr)
			w.token("one", time.Hour)
			if after := w.look(); after != 0 {
				t.Errorf("looked at again after %s", after)
			}
			if token, _ := w.holds(); token != "" {
				t.Errorf("it got %q", token)
			}
			if row.forget != (len(w.giver.forgotten) == 1) {
				t.Errorf("forgotten: %v", w.giver.forgotten)
			}
		})
	}
}

func TestALimitThatARunDoesNotHave(t *testing.T) {
	pr := makeRun("far")
	pr.Spec.Timeouts = nil
	if a := Ask(pr); a.For != 2*time.Hour {
		t.Errorf("Tekton's own: %s", a.For)
	}
	pr.Spec.Timeouts = &tektonv1.TimeoutFields{Pipeline: &metav1.Duration{}}
	if a := Ask(pr); a.For != 25*time.Hour {
		t.Errorf("none at all: %s", a.For)
	}
}
