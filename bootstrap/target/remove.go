package target

import (
	"context"
	"fmt"
	"slices"

	"bflow.dev/bflow/bootstrap/apply"
	"bflow.dev/bflow/bootstrap/content"
	"bflow.dev/bflow/runplan/contract"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Remove deletes what Prepare has written for a hub. What another hub uses stays, and so does a namespace that existed
// before, or that holds objects of others, or volumes or pods of runs; say is called for each of these.
func (c *Cluster) Remove(ctx context.Context, objects func(namespaces []string) ([]*unstructured.Unstructured, error),
	hub string, say func(string)) error {
	namespaces, err := c.objects.List(ctx, schema.GroupKind{Kind: "Namespace"}, "",
		contract.LabelManagedBy+"="+contract.ManagedBy)
	if err != nil {
		return c.explain("looking for bflow's objects on the target", err)
	}
	shared := map[string]bool{} // namespaces that other hubs use as well
	var runs []string
	for _, ns := range namespaces {
		hubs := hubsOf(ns)
		if _, ours := hubs[hub]; !ours {
			continue
		}
		shared[ns.GetName()] = len(hubs) > 1
		if ns.GetName() != contract.NamespaceSystem {
			runs = append(runs, ns.GetName())
		}
	}
	if len(shared) == 0 {
		say("the target has nothing of this hub")
		return nil
	}
	all, err := objects(runs)
	if err != nil {
		return err
	}
	if err := c.removeObjects(ctx, all, shared); err != nil {
		return err
	}
	l := departure{Cluster: c, hub: hub, whose: content.NewOrigins(c.objects, ofHub(hub, all)), say: say}
	for _, ns := range namespaces {
		if others, ours := shared[ns.GetName()]; ours {
			if err := l.leaveNamespace(ctx, ns, others); err != nil {
				return c.explain("leaving the target", err)
			}
		}
	}
	return nil
}

// removeObjects deletes the objects in namespaces that no other hub uses, and those elsewhere that belong to such a
// namespace. Objects that exist once per cluster stay as long as another hub uses the target.
func (c *Cluster) removeObjects(ctx context.Context, all []*unstructured.Unstructured, shared map[string]bool) error {
	var refs []apply.Ref
	for _, o := range all {
		ref := apply.RefOf(o)
		switch {
		case ref.Kind == "Namespace":
		case ref.Namespace == contract.NamespaceSystem || ref.Namespace == "":
			if !shared[contract.NamespaceSystem] {
				refs = append(refs, ref)
			}
		case !shared[ref.Namespace]:
			refs = append(refs, ref)
		}
	}
	for _, phase := range apply.DeletePhases(refs) {
		for _, ref := range phase {
			if _, err := c.objects.Delete(ctx, ref); err != nil {
				return c.explain("removing bflow's objects from the target", err)
			}
		}
	}
	return nil
}

// ofHub recognizes the objects of a hub on a target: those written for it, and what its runs have left. All others
// belong to others, even if the target is a hub as well.
func ofHub(hub string, written []*unstructured.Unstructured) func(*unstructured.Unstructured) (content.Origin, bool) {
	refs := map[apply.Ref]bool{}
	for _, o := range written {
		refs[apply.RefOf(o)] = true
	}
	return func(u *unstructured.Unstructured) (content.Origin, bool) {
		switch {
		case refs[apply.RefOf(u)]:
			return content.OfInstallation, true
		case u.GetLabels()[contract.LabelHub] == hub:
			return content.OfRuns, true
		}
		return content.OfOthers, false
	}
}

// departure is the removal of a hub from a target, after its objects have been deleted.
type departure struct {
	*Cluster
	hub   string
	whose *content.Origins
	say   func(string)
}

// leaveNamespace deletes a namespace, or removes the hub from it.
func (l *departure) leaveNamespace(ctx context.Context, ns *unstructured.Unstructured, shared bool) error {
	ref := apply.Ref{Kind: "Namespace", Name: ns.GetName()}
	if shared {
		l.say(fmt.Sprintf("%s stays: another hub needs it", ref))
		return l.objects.Merge(ctx, ref, map[string]any{"metadata": map[string]any{
			"annotations": map[string]any{hubPrefix + l.hub: nil}}})
	}
	why, err := l.reasonToStay(ctx, ns)
	if err != nil {
		return err
	}
	if why != "" {
		l.say(fmt.Sprintf("%s stays: %s", ref, why))
		return l.objects.Release(ctx, ref, "v1")
	}
	_, err = l.objects.Delete(ctx, ref)
	return err
}

// reasonToStay returns why a namespace is not deleted, "" if nothing is lost with it. If that cannot be found out, it
// stays, unless an account with more rights could tell.
func (l *departure) reasonToStay(ctx context.Context, ns *unstructured.Unstructured) (string, error) {
	if ns.GetAnnotations()[annotationMade] == "" {
		return "it was there before bflow", nil
	}
	there, err := l.whose.In(ctx, ns.GetName())
	switch {
	case ctx.Err() != nil, apierrors.IsForbidden(err):
		return "", err
	case err != nil:
		return err.Error(), nil
	}
	there.Others = slices.DeleteFunc(there.Others, isBeingDeleted)
	there.Results = slices.DeleteFunc(there.Results, func(u *unstructured.Unstructured) bool {
		// everything else is of no use without its run
		return isBeingDeleted(u) || u.GetKind() != "PersistentVolumeClaim" && u.GetKind() != "Pod"
	})
	return there.ReasonToStay(false), nil
}

// isBeingDeleted reports whether an object is already being deleted.
func isBeingDeleted(u *unstructured.Unstructured) bool { return u.GetDeletionTimestamp() != nil }
