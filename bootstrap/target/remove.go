package target

import (
	"context"
	"fmt"
	"slices"

	"bflow.dev/bflow/bootstrap/apply"
	"bflow.dev/bflow/tasks/contract"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Remove takes away what Prepare has written for a hub. What another hub needs stays, and so does a namespace that was
// there before or holds volumes or pods of others: each of these is told to say.
func (c *Cluster) Remove(ctx context.Context, objects func(namespaces []string) ([]*unstructured.Unstructured, error), hub string, say func(string)) error {
	namespaces, err := c.objects.List(ctx, schema.GroupKind{Kind: "Namespace"}, "", contract.LabelManagedBy+"="+contract.ManagedBy)
	if err != nil {
		return c.sentence("looking for what is ours on the target", err)
	}
	shared := map[string]bool{} // namespaces that other hubs need as well
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
	for _, ns := range namespaces {
		if others, ours := shared[ns.GetName()]; ours {
			if err := c.leave(ctx, ns, hub, others, say); err != nil {
				return c.sentence("leaving the target", err)
			}
		}
	}
	return nil
}

// removeObjects deletes what lies in namespaces that nobody else needs, and what is bound for them elsewhere. What the
// cluster has once stays as long as another hub is there.
func (c *Cluster) removeObjects(ctx context.Context, all []*unstructured.Unstructured, shared map[string]bool) error {
	var going []apply.Ref
	for _, o := range all {
		ref := apply.RefOf(o)
		switch {
		case ref.Kind == "Namespace":
		case ref.Namespace == contract.NamespaceSystem || ref.Namespace == "":
			if !shared[contract.NamespaceSystem] {
				going = append(going, ref)
			}
		case !shared[ref.Namespace]:
			going = append(going, ref)
		}
	}
	for _, phase := range apply.DeletePhases(going) {
		for _, ref := range phase {
			if _, err := c.objects.Delete(ctx, ref); err != nil {
				return c.sentence("removing what is ours on the target", err)
			}
		}
	}
	return nil
}

// leave deletes a namespace, or takes our name off it.
func (c *Cluster) leave(ctx context.Context, ns *unstructured.Unstructured, hub string, shared bool, say func(string)) error {
	ref := apply.Ref{Kind: "Namespace", Name: ns.GetName()}
	if shared {
		say(fmt.Sprintf("%s stays: another hub needs it", ref))
		return c.objects.Merge(ctx, ref, map[string]any{"metadata": map[string]any{"annotations": map[string]any{hubPrefix + hub: nil}}})
	}
	used, err := c.used(ctx, ns.GetName())
	if err != nil {
		return err
	}
	if ns.GetAnnotations()[annotationMade] == "" || used != "" {
		say(fmt.Sprintf("%s stays: %s", ref, reason(used)))
		return c.objects.Release(ctx, ref, "v1")
	}
	_, err = c.objects.Delete(ctx, ref)
	return err
}

func reason(used string) string {
	if used == "" {
		return "it was there before bflow"
	}
	return "it holds " + used
}

// used is what of others a namespace holds.
func (c *Cluster) used(ctx context.Context, namespace string) (string, error) {
	for _, kind := range []string{"PersistentVolumeClaim", "Pod"} {
		all, err := c.objects.List(ctx, schema.GroupKind{Kind: kind}, namespace, "")
		if err != nil {
			return "", err
		}
		all = slices.DeleteFunc(all, func(u *unstructured.Unstructured) bool { return u.GetDeletionTimestamp() != nil })
		if len(all) > 0 {
			return fmt.Sprintf("%s %q", all[0].GetKind(), all[0].GetName()), nil
		}
	}
	return "", nil
}
