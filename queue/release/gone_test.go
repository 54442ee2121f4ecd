package release

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/queue/devices/view"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// fixedSight is what is seen of a target.
type fixedSight struct {
	reach   view.Reach
	pods    []map[string]string // labels of those in the namespace
	account bool
	err     error
}

func (s fixedSight) Ready() bool       { return true }
func (s fixedSight) Reach() view.Reach { return s.reach }

func (s fixedSight) Inventory(context.Context, devices.Owner) (*devices.Inventory, error) {
	return nil, errors.New("nobody counts here")
}

func (s fixedSight) Vacant(_ context.Context, _ string, ours func(map[string]string) bool) (bool, error) {
	for _, labels := range s.pods {
		if ours(labels) {
			return false, s.err
		}
	}
	return !s.account, s.err
}

// refusing answers whoever wants a token to end.
type refusing struct{ err error }

func (r refusing) Access(target.Ask) (target.Grant, error) { return target.Grant{}, r.err }
func (r refusing) Forget(types.UID)                        {}

func (r refusing) Revoke(context.Context, string, types.UID) error {
	return fmt.Errorf("ending the token of a run: %w", r.err)
}

func TestWhatIsOwedInANamespaceThatIsGoneIsCleared(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "bflow-grant-u",
		errors.New("no RBAC policy matched"))
	up := view.Reach{Up: true, Since: begin().Add(-time.Hour)}
	for _, row := range []struct {
		name   string
		answer error
		sight  fixedSight
		clean  bool
	}{
		{"the API server refuses, and nothing is seen there", forbidden, fixedSight{reach: up}, true},
		{"it says that there is no such thing", apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "bench"),
			fixedSight{reach: up}, true},
		{"a network error is no answer", errors.New("no route to host"), fixedSight{reach: up}, false},
		{"nor is a server that is overloaded", apierrors.NewInternalError(errors.New("etcd")), fixedSight{reach: up}, false},
		{"nor are credentials that have expired", apierrors.NewUnauthorized("expired"), fixedSight{reach: up}, false},
		{"the account of runs is there, so its tokens are good", forbidden, fixedSight{reach: up, account: true}, false},
		{"a pod of a run is there", forbidden, fixedSight{reach: up,
			pods: []map[string]string{{contract.LabelRun: "x", contract.LabelHub: "hub"}}}, false},
		{"a pod that may be one", forbidden, fixedSight{reach: up, pods: []map[string]string{{contract.LabelRun: "x"}}},
			false},
		{"pods of others do not count", forbidden, fixedSight{reach: up,
			pods: []map[string]string{{contract.LabelRun: "x", contract.LabelHub: "another"}, {"app": "x"}}}, true},
		{"what is there is not known", forbidden, fixedSight{reach: up, err: errors.New("not all known yet")}, false},
		{"it has answered for a moment only", forbidden, fixedSight{
			reach: view.Reach{Up: true, Since: begin().Add(-time.Second)}}, false},
		{"it does not answer now", forbidden, fixedSight{reach: view.Reach{Since: begin().Add(-time.Hour)}}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			flavor := &kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: "far", Annotations: map[string]string{
				contract.AnnotationDirty: "bench/a", contract.AnnotationOwed: "bench/" + contract.GrantSecret("u")}}}
			c := hub(t, flavor)
			live := interceptor.NewClient(c, interceptor.Funcs{
				List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
					return row.answer
				}})
			o := options(t, target.Target{Name: "far", Live: live, Sight: row.sight, Accessor: refusing{row.answer}})
			o.Hub, o.Clock = "hub", clocktesting.NewFakeClock(begin())
			if _, err := NewSweeper(c, c, o).Reconcile(t.Context(),
				ctrl.Request{NamespacedName: client.ObjectKeyFromObject(flavor)}); err != nil {
				t.Fatal(err)
			}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(flavor), flavor); err != nil {
				t.Fatal(err)
			}
			if clean := flavor.Annotations[contract.AnnotationDirty] == "" &&
				flavor.Annotations[contract.AnnotationOwed] == ""; clean != row.clean {
				t.Errorf("its marks are %v", flavor.Annotations)
			}
		})
	}
}

// TestATaskPodOfARunThatGoesOnKeepsItsTargetDirty, whatever became of the namespace there.
func TestATaskPodOfARunThatGoesOnKeepsItsTargetDirty(t *testing.T) {
	flavor := &kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: "far",
		Annotations: map[string]string{contract.AnnotationDirty: "bench/a"}}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "a-provision",
		Labels: map[string]string{contract.LabelRun: "a", "tekton.dev/taskRun": "a-provision"}}}
	c := hub(t, flavor, pod)
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "", errors.New("no RBAC policy matched"))
	live := interceptor.NewClient(c, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return forbidden
		}})
	sight := fixedSight{reach: view.Reach{Up: true, Since: begin().Add(-time.Hour)}}
	o := options(t, target.Target{Name: "far", Live: live, Sight: sight, Accessor: refusing{forbidden}})
	if _, err := NewSweeper(c, c, o).Reconcile(t.Context(),
		ctrl.Request{NamespacedName: client.ObjectKeyFromObject(flavor)}); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(flavor), flavor); err != nil ||
		flavor.Annotations[contract.AnnotationDirty] != "bench/a" {
		t.Errorf("its marks are %v, error %v", flavor.Annotations, err)
	}
}
