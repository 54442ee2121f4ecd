package gc

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"bflow.dev/bflow/platform"
	"bflow.dev/bflow/runplan/contract"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kinds are what runs make on a target, owners before what they own. On the hub itself no Jobs are made: load runs in
// the pods of tasks there.
func Kinds(target string) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, k := range platform.Kinds() {
		if k.Maker != platform.ByTask || target != contract.TargetLocal {
			kinds = append(kinds, k.GroupVersionKind)
		}
	}
	return kinds
}

// Object is something of a run on its target.
type Object struct {
	metav1.PartialObjectMetadata
}

// String is the object for a person.
func (o Object) String() string { return o.Kind + " " + o.Name }

// Run is the name of the run that it belongs to.
func (o Object) Run() string { return o.Labels[contract.LabelRun] }

// makesPods says whether pods of the object come back while it is there.
func (o Object) makesPods() bool {
	k, _ := platform.FindKind(o.Kind)
	return k.MakesPods
}

// MayHoldDevices says whether something may hold a device: a pod, or what makes pods.
func MayHoldDevices(all []Object) bool {
	return slices.ContainsFunc(all, func(o Object) bool { return o.Kind == "Pod" || o.makesPods() })
}

// ByRun selects what was made for a run. Task pods carry the label of the run too, but none of a release.
func ByRun(id string) labels.Selector {
	return selector(require(contract.LabelRun, selection.Equals, id), require(contract.LabelRelease, selection.Exists))
}

// ByHub selects what was made for any run of a hub.
func ByHub(hub string) labels.Selector {
	return selector(require(contract.LabelHub, selection.Equals, hub), require(contract.LabelRun, selection.Exists),
		require(contract.LabelRelease, selection.Exists))
}

func require(key string, op selection.Operator, values ...string) labels.Requirement {
	r, _ := labels.NewRequirement(key, op, values)
	if r == nil { // no label can have such a value, so nothing is selected by it
		r, _ = labels.NewRequirement(key, selection.In, []string{""})
	}
	return *r
}

func selector(all ...labels.Requirement) labels.Selector { return labels.NewSelector().Add(all...) }

// List returns what a selector finds in one namespace of a target, in the order of Kinds. Objects of other hubs than
// hub are left out, whatever they are named; those that name no hub count as its own.
func List(ctx context.Context, c client.Client, target, hub, namespace string, by labels.Selector) ([]Object, error) {
	var out []Object
	for _, kind := range Kinds(target) {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := c.List(ctx, list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: by})
		if apimeta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("listing what is left on target %q: %w", target, err)
		}
		for _, item := range list.Items {
			if other := item.Labels[contract.LabelHub]; hub != "" && other != "" && other != hub {
				continue
			}
			item.SetGroupVersionKind(kind) // a list does not repeat it
			out = append(out, Object{item})
		}
	}
	return out, nil
}

// Delete deletes objects. Pods go with their owner; alone they are deleted once no owner is left to make them anew.
// What makes pods stays until they are gone: a ReplicaSet that outlives its Deployment, because nobody collects garbage
// just now, is in no list of ours and makes a pod anew once its controller works again. An object that was replaced
// meanwhile by another of its name stays. deleted is called for each.
func Delete(ctx context.Context, c client.Client, all []Object, deleted func(Object)) error {
	owners := slices.ContainsFunc(all, Object.makesPods)
	for _, o := range all {
		if !o.DeletionTimestamp.IsZero() || owners && o.Kind == "Pod" {
			continue
		}
		uid, how := o.UID, client.PropagationPolicy(metav1.DeletePropagationBackground)
		if o.makesPods() {
			how = client.PropagationPolicy(metav1.DeletePropagationForeground)
		}
		err := c.Delete(ctx, &o.PartialObjectMetadata, client.Preconditions{UID: &uid}, how)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting %s: %w", o, err)
		}
		deleted(o)
	}
	return nil
}

// Sentence is short however much there is: it is written to annotations.
func Sentence(parts []string) string {
	const most = 3
	if more := len(parts) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(parts[:most], ", "), more)
	}
	return strings.Join(parts, ", ")
}
