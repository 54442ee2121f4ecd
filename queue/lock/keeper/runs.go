package keeper

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"bflow.dev/bflow/queue/lock"
	"bflow.dev/bflow/queue/lock/history"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/watch"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// KeyOf is the setup key of a run, "" for one that needs no shared state.
func KeyOf(o metav1.Object) string {
	if demand, err := run.Demand(o); err == nil { // one that cannot be read is never let start
		if slots := demand[contract.ResourceSlot]; slots.Value() >= contract.TargetSlots {
			return lock.Exclusive(name(o))
		}
	}
	return o.GetAnnotations()[contract.AnnotationSetupKey]
}

// RequestOf is a run as the lock sees it.
func RequestOf(o metav1.Object) lock.Request {
	return lock.Request{Run: name(o), Key: KeyOf(o), Queued: o.GetCreationTimestamp().Time}
}

// EventOf is what happened to a run, for the log.
func EventOf(kind history.Kind, hub string, o metav1.Object) history.Event {
	e := history.Event{Kind: kind, Hub: hub, Target: run.Target(o), Run: name(o), Key: KeyOf(o)}
	e.Fence, _ = strconv.ParseInt(o.GetAnnotations()[contract.AnnotationFence], 10, 64)
	demand, err := run.Demand(o)
	if err != nil || len(demand) == 0 {
		return e
	}
	e.Amounts = map[string]int64{}
	for resource, amount := range demand {
		e.Amounts[string(resource)] = amount.Value()
	}
	return e
}

func name(o metav1.Object) string { return o.GetNamespace() + "/" + run.ID(o) }

// runs is what the hub knows of its runs on targets.
type runs struct {
	cache client.Reader
	live  client.Reader
}

// listStarted are the runs with a key that were let start on a target and are not released, as the cache has them.
func (r runs) listStarted(ctx context.Context, target string) ([]lock.Request, error) {
	var list tektonv1.PipelineRunList
	if err := r.cache.List(ctx, &list, client.MatchingFields{run.Index: target},
		client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the runs on target %q: %w", target, err)
	}
	var out []lock.Request
	for i := range list.Items {
		if pr := &list.Items[i]; KeyOf(pr) != "" {
			out = append(out, RequestOf(pr))
		}
	}
	return out, nil
}

// listStartedLive is the same, past the cache: before a key is let go. Only metadata is read. What lies in other
// namespaces than those of runs is no run.
func (r runs) listStartedLive(ctx context.Context, target string) ([]lock.Request, error) {
	namespaces, err := watch.RunNamespaces(ctx, r.cache)
	if err != nil {
		return nil, err
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(tektonv1.SchemeGroupVersion.WithKind("PipelineRunList"))
	if err := r.live.List(ctx, list, client.MatchingLabels{contract.LabelTarget: target},
		client.HasLabels{contract.LabelPlanHash}); err != nil {
		return nil, fmt.Errorf("listing the runs on target %q: %w", target, err)
	}
	var out []lock.Request
	for i := range list.Items {
		o := &list.Items[i]
		_, found := slices.BinarySearch(namespaces, o.Namespace)
		if found && o.Annotations[contract.AnnotationAdmitted] != "" && !run.Released(o) && run.Queue(o) != "" &&
			KeyOf(o) != "" {
			out = append(out, RequestOf(o))
		}
	}
	return out, nil
}

// dirty says whether something of a run that was released by force may be on a target.
func (r runs) dirty(ctx context.Context, target string) (bool, error) {
	flavor := &kueue.ResourceFlavor{}
	if err := r.cache.Get(ctx, client.ObjectKey{Name: target}, flavor); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return flavor.Annotations[contract.AnnotationDirty] != "", nil
}
