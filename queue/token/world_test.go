package token

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"bflow.dev/bflow/queue/queuetest"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
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

// errKilled is what a controller meets that has been killed.
var errKilled = errors.New("killed")

// world is an API server that binds tokens to Secrets, as the real one does, and the controller.
type world struct {
	*queuetest.World
	cached client.Reader
	r      *Reconciler
	made   int                  // objects, tokens included
	left   int                  // writes until the controller is killed; below zero: it is not
	bound  map[string]types.UID // by token
	life   map[string]int64     // by token, seconds asked for
}

func newWorld(t *testing.T, tasks ...*tektonv1.TaskRun) *world {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: contract.AccountSubmit}}
	builder := queuetest.Builder(t).WithObjects(account, queuetest.RunNamespace())
	for _, task := range tasks {
		builder = builder.WithObjects(task)
	}
	w := &world{World: queuetest.With(t, time.Unix(1000, 0), builder.Build()), left: -1, bound: map[string]types.UID{},
		life: map[string]int64{}}
	w.Client = interceptor.NewClient(w.Client, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			w.made++
			o.SetUID(types.UID(fmt.Sprint("made-", w.made)))
			return w.write(func() error { return c.Create(ctx, o, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return w.write(func() error { return c.Delete(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch,
			opts ...client.PatchOption) error {
			return w.write(func() error { return c.Patch(ctx, o, p, opts...) })
		},
		SubResourceCreate: func(ctx context.Context, c client.Client, of string, o, sub client.Object,
			_ ...client.SubResourceCreateOption) error {
			return w.write(func() error { return w.mint(ctx, c, o, sub.(*authenticationv1.TokenRequest)) })
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			if _, ok := o.(*corev1.Secret); ok && opts == nil {
				t.Error("the controller has read a Secret")
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
	w.cached = w.Client
	w.restart()
	return w
}

// write is one of the controller, which may be its last.
func (w *world) write(do func() error) error {
	if w.left == 0 {
		return errKilled
	}
	w.left--
	return do()
}

// mint gives a token of an account that is bound to a Secret.
func (w *world) mint(ctx context.Context, c client.Client, account client.Object,
	ask *authenticationv1.TokenRequest) error {
	if err := c.Get(ctx, client.ObjectKeyFromObject(account), account); err != nil {
		return err
	}
	to := &corev1.Secret{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: account.GetNamespace(), Name: ask.Spec.BoundObjectRef.Name}, to,
		&client.GetOptions{}); err != nil {
		return err
	}
	if to.UID != ask.Spec.BoundObjectRef.UID {
		return apierrors.NewConflict(corev1.Resource("serviceaccounts/token"), account.GetName(),
			errors.New("the UID does not match"))
	}
	w.made++
	ask.Status.Token = fmt.Sprint("token-", w.made)
	ask.Status.ExpirationTimestamp = metav1.NewTime(w.Clock.Now().Add(
		time.Duration(*ask.Spec.ExpirationSeconds) * time.Second))
	w.bound[ask.Status.Token], w.life[ask.Status.Token] = to.UID, *ask.Spec.ExpirationSeconds
	return nil
}

// restart is a controller that remembers nothing.
func (w *world) restart() {
	w.r = NewReconciler(w.Client, w.cached, w.Client, events.NewFakeRecorder(50), w.Clock, slog.New(slog.DiscardHandler))
}

func (w *world) look() (time.Duration, error) {
	r, err := w.r.Reconcile(w.T.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: ns, Name: "e"}})
	return r.RequeueAfter, err
}

// must looks once, without an error.
func (w *world) must() time.Duration {
	w.T.Helper()
	after, err := w.look()
	if err != nil {
		w.T.Fatal(err)
	}
	return after
}

// there reads a Secret as its pod would; nil where there is none.
func (w *world) there(name string) *corev1.Secret {
	w.T.Helper()
	s := &corev1.Secret{}
	err := w.Client.Get(w.T.Context(), client.ObjectKey{Namespace: ns, Name: name}, s, &client.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.T.Fatal(err)
	}
	if len(s.OwnerReferences) != 1 || s.OwnerReferences[0].Kind != "TaskRun" || s.OwnerReferences[0].UID == "" {
		w.T.Errorf("%s does not go with its task: %v", name, s.OwnerReferences)
	}
	return s
}

// holds is the token that the pod of task e mounts, "" for none.
func (w *world) holds() string {
	w.T.Helper()
	if s := w.there(contract.SubmitSecret("e")); s != nil {
		return string(s.Data[contract.KeyToken])
	}
	return ""
}

// valid says whether the API server takes a token: what it is bound to is still there.
func (w *world) valid(token string) bool {
	w.T.Helper()
	bond := w.there(contract.SubmitBond("e"))
	return bond != nil && token != "" && w.bound[token] == bond.UID
}

// task reads task e.
func (w *world) task() *tektonv1.TaskRun {
	w.T.Helper()
	task := &tektonv1.TaskRun{}
	w.Get(task, "e")
	return task
}

// ends writes the end of task e as Tekton does.
func (w *world) ends(status corev1.ConditionStatus, reason string) {
	w.T.Helper()
	task := w.task()
	task.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: status, Reason: reason})
	now := metav1.NewTime(w.Clock.Now())
	task.Status.CompletionTime = &now
	if err := w.Client.Update(w.T.Context(), task); err != nil {
		w.T.Fatal(err)
	}
}

func makeTask(edits ...func(*tektonv1.TaskRun)) *tektonv1.TaskRun {
	task := &tektonv1.TaskRun{ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: ns, UID: "u",
		Labels: map[string]string{contract.LabelToken: contract.TokenSubmit}}}
	for _, edit := range edits {
		edit(task)
	}
	return task
}
