package check

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"bflow.dev/bflow/queue/queuetest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// refuse lets the API server answer every write to one Workload with err, and take no message that is too long for it.
func (w *world) refuse(workload string, err error) {
	w.T.Helper()
	w.r.client = interceptor.NewClient(w.Client, interceptor.Funcs{
		SubResourcePatch: func(
			ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch,
			opts ...client.SubResourcePatchOption,
		) error {
			if wl, ok := o.(*kueue.Workload); ok {
				for _, state := range wl.Status.AdmissionChecks {
					if len(state.Message) > 32*1024 {
						return invalid(o.GetName())
					}
				}
			}
			if o.GetName() == workload && err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	})
}

func invalid(workload string) error {
	return apierrors.NewInvalid(kueue.SchemeGroupVersion.WithKind("Workload").GroupKind(), workload, nil)
}

func TestARunWhoseAnswerIsRefusedKeepsNoneFromOthers(t *testing.T) {
	of := corev1.Resource("workloads")
	denied := errors.New(`admission webhook "stranger" denied the request`)
	lost := &apierrors.StatusError{ErrStatus: metav1.Status{
		Code: http.StatusInternalServerError, Message: "etcdserver: request timed out",
	}}
	silent := apierrors.NewInternalError(errors.New(`failed calling webhook "stranger"`))
	for _, row := range []struct {
		name   string
		err    error
		others kueue.CheckState
	}{
		{"a webhook is against it", apierrors.NewForbidden(of, "w-r1", denied), isReady},
		{"it is not valid", invalid("w-r1"), isReady},
		{"a webhook of its namespace does not answer", silent, isReady},
		{"its Workload is gone", apierrors.NewNotFound(of, "w-r1"), isReady},
		{"it has changed, and the others were judged beside what it was", apierrors.NewConflict(of, "w-r1", denied),
			isPending},
		{"the API server has too much to do", apierrors.NewTooManyRequestsError("later"), isPending},
		{"the API server has lost its store", lost, isPending},
		{"the API server does not answer", context.DeadlineExceeded, isPending},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, queuetest.MakeNode("a", 8), queuetest.MakeNode("b", 8))
			w.run("r1", four)
			w.run("r2", eight)
			w.run("r3", four)
			w.refuse("w-r1", row.err)
			_, err := w.r.Reconcile(t.Context(), request("bflow-local"))
			if !errors.Is(err, row.err) || !strings.Contains(err.Error(), `answering for run "r1"`) {
				t.Errorf("it is to be tried again, and named: %v", err)
			}
			w.want(map[string]kueue.CheckState{"r1": isPending, "r2": row.others, "r3": row.others})
		})
	}
}

// TestARunThatSaysALotIsAnsweredInShort: the API server takes no answer that repeats all of it.
func TestARunThatSaysALotIsAnsweredInShort(t *testing.T) {
	w := newWorld(t, queuetest.MakeNode("a", 8))
	w.refuse("", nil)
	w.run("talker", four)
	w.annotate("talker", "bflow.dev/pods", strings.Repeat("é", 20_000))
	w.run("next", eight)
	w.reconcile("bflow-local")
	w.want(map[string]kueue.CheckState{"talker": kueue.CheckStateRejected, "next": isReady})
}
