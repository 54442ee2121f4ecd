package bootstrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"bflow.dev/bflow/bootstrap/apply"
	queuerun "bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"
)

// orphanedError means that runs or matrices have finalizers of a controller that does not run: waiting for it would
// never end.
type orphanedError struct{ held []apply.Ref }

func (e *orphanedError) Error() string {
	first := e.held[0]
	return fmt.Sprintf("%s is not running, so the runs and matrices with its finalizer cannot be deleted: %d, %s first; "+
		"delete each with bflow delete --force --yes %s -n %s and try again, or see bflow doctor",
		contract.AccountController, len(e.held), first.Name, first.Name, first.Namespace)
}

// holderOf returns the run or matrix for which the controller holds an object, by the name that bflow delete takes. It
// returns false for what Tekton, Kueue or Kubernetes release themselves. A waiting run is held by its Workload.
func holderOf(u *unstructured.Unstructured) (apply.Ref, bool) {
	if u == nil {
		return apply.Ref{}, false
	}
	ref := apply.Ref{Group: runKind().Group, Kind: runKind().Kind, Namespace: u.GetNamespace()}
	for _, owner := range u.GetOwnerReferences() {
		if owner.Kind == runKind().Kind {
			ref.Name = owner.Name
		}
	}
	switch u.GetKind() {
	case customRunKind().Kind:
		over, _ := settled(u)
		return ref, !over && ref.Name != ""
	case workloadKind().Kind:
		free, _ := unheld(u)
		return ref, !free && ref.Name != ""
	}
	ref.Name = cmp.Or(u.GetLabels()[contract.LabelRun], u.GetName())
	status, _, _ := unstructured.NestedString(u.Object, "spec", "status")
	waits := status == statusPending && !finished(u)
	return ref, waits || slices.ContainsFunc(u.GetFinalizers(),
		func(f string) bool { return f == contract.Finalizer || f == contract.FinalizerMatrix })
}

// requireController returns an *orphanedError if runs or matrices in a namespace, "" for all, are held and no
// controller runs that would release them.
func (h *Hub) requireController(ctx context.Context, namespace string) error {
	if !h.isOrphaned(ctx) {
		return nil
	}
	var all []*unstructured.Unstructured
	for _, look := range []struct {
		kind     schema.GroupKind
		selector string
	}{{customRunKind(), selectMatrices}, {runKind(), selectMatrices}, {runKind(), selectRuns}} {
		some, err := h.cluster.List(ctx, look.kind, namespace, look.selector)
		if err != nil {
			return err
		}
		all = append(all, some...)
	}
	return orphansAmong(all)
}

// orphansAmong returns an *orphanedError if objects are held for runs or matrices. The runs of a matrix are not
// counted where the matrix comes before them.
func orphansAmong(all []*unstructured.Unstructured) error {
	var held []apply.Ref
	for _, u := range all {
		ref, is := holderOf(u)
		whole := ref
		whole.Name = u.GetLabels()[contract.LabelMatrix]
		if is && !slices.Contains(held, ref) && !slices.Contains(held, whole) {
			held = append(held, ref)
		}
	}
	if len(held) == 0 {
		return nil
	}
	return &orphanedError{held}
}

// isOrphaned reports whether nothing releases runs: see queuerun.Orphaned. If that cannot be read, it is false.
func (h *Hub) isOrphaned(ctx context.Context) bool {
	u, err := h.cluster.Get(ctx, controllerRef())
	if err != nil {
		return false
	}
	if u == nil {
		return queuerun.Orphaned(nil, time.Now())
	}
	var d appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &d); err != nil {
		return false
	}
	return queuerun.Orphaned(&d, time.Now())
}

// awaitRelease waits until the controller has released objects. If the controller stops running meanwhile, it returns
// an *orphanedError at once.
func (h *Hub) awaitRelease(ctx context.Context, refs []apply.Ref, is apply.Condition) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	err := h.cluster.Wait(ctx, refs, func(u *unstructured.Unstructured) (bool, string) {
		ok, why := is(u)
		if held, waits := holderOf(u); !ok && waits && h.isOrphaned(ctx) {
			cancel(&orphanedError{[]apply.Ref{held}})
		}
		return ok, why
	}, h.out.waiting)
	var orphaned *orphanedError
	if errors.As(context.Cause(ctx), &orphaned) {
		return orphaned
	}
	return err
}

// adviseByHand adds to the error of a wait for the controller what a person can do instead.
func adviseByHand(err error, finalizer, of string) error {
	var orphaned *orphanedError
	if err == nil || errors.As(err, &orphaned) {
		return err
	}
	return fmt.Errorf(
		"%w; check the controller in %q, or remove finalizer %q from the %s once all its objects are deleted", err,
		contract.NamespaceSystem, finalizer, of)
}
