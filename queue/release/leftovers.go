package release

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/tasks/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kinds are what provision makes on a target, owners before what they own.
func kinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		deploymentKind(),
		{Version: "v1", Kind: "Service"},
		{Version: "v1", Kind: "PersistentVolumeClaim"},
		podKind(),
	}
}

func deploymentKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
}

func podKind() schema.GroupVersionKind { return schema.GroupVersionKind{Version: "v1", Kind: "Pod"} }

// holding says whether something that is left may hold a device: a pod, or what makes pods.
func holding(left []leftover) bool {
	return slices.ContainsFunc(left, func(l leftover) bool {
		return l.GroupVersionKind() == podKind() || l.GroupVersionKind() == deploymentKind()
	})
}

// leftover is an object of a run on its target.
type leftover struct {
	metav1.PartialObjectMetadata
}

func (l leftover) String() string { return l.Kind + " " + l.Name }

// made selects what provision made for a run. Task pods carry the label of the run too, but none of a release.
func made(id string) labels.Selector {
	of, _ := labels.NewRequirement(contract.LabelRun, selection.Equals, []string{id})
	has, _ := labels.NewRequirement(contract.LabelRelease, selection.Exists, nil)
	return labels.NewSelector().Add(*of, *has)
}

// leftovers lists what is left of a run on its target.
func leftovers(ctx context.Context, t target.Target, pr *tektonv1.PipelineRun) ([]leftover, error) {
	return leftOf(ctx, t, pr.Namespace, run.ID(pr))
}

func leftOf(ctx context.Context, t target.Target, namespace, id string) ([]leftover, error) {
	var left []leftover
	for _, kind := range kinds() {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := t.Live.List(ctx, list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: made(id)})
		if apimeta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("listing what is left on target %q: %w", t.Name, err)
		}
		for _, item := range list.Items {
			item.SetGroupVersionKind(kind) // a list does not repeat it
			left = append(left, leftover{item})
		}
	}
	return left, nil
}

// remove deletes what is left. Pods go with their owner; alone they are deleted once no owner is left to make them anew.
func (r *Reconciler) remove(ctx context.Context, t target.Target, pr *tektonv1.PipelineRun, left []leftover) error {
	owners := slices.ContainsFunc(left, func(l leftover) bool { return l.GroupVersionKind() == deploymentKind() })
	for _, l := range left {
		if !l.DeletionTimestamp.IsZero() || owners && l.GroupVersionKind() == podKind() {
			continue
		}
		uid := l.UID
		err := t.Live.Delete(ctx, &l.PartialObjectMetadata,
			client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting %s: %w", l, err)
		}
		r.opts.Metrics.Leftovers.WithLabelValues(t.Name, l.Kind).Inc()
		r.events.Eventf(pr, nil, corev1.EventTypeNormal, "DeletedLeftover", "Release", "Deleted %s, which the run had left on target %s", l, t.Name)
	}
	return nil
}

// waitsFor is what keeps the run from its release, in words; nil when nothing does.
func waitsFor(w work, left []leftover, finishing string) []string {
	var waits []string
	for _, l := range left {
		waits = append(waits, l.String())
	}
	for _, pod := range w.pods {
		waits = append(waits, "task pod "+pod)
	}
	if finishing != "" {
		waits = append(waits, finishing)
	}
	return waits
}

// sentence is short however much is left: it is written to an annotation.
func sentence(waits []string) string {
	const most = 3
	if more := len(waits) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(waits[:most], ", "), more)
	}
	return strings.Join(waits, ", ")
}
