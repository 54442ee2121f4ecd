package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/bootstrap/apply"
	"bflow.dev/bflow/bootstrap/component"
	"bflow.dev/bflow/bootstrap/content"
	"bflow.dev/bflow/runplan/contract"
)

// UninstallOptions configures an uninstallation.
type UninstallOptions struct {
	Data    bool                            // delete results of runs as well
	Ask     func(question string) (ok bool) // asked before results are deleted; nil keeps them
	Timeout time.Duration                   // for each step; 0 = 15 minutes, because ending a run may take 10
}

const defaultUninstallTimeout = 15 * time.Minute

// removal is an uninstallation in progress.
type removal struct {
	*Hub
	inventory Inventory
	data      Data
	drop      bool // results are deleted
	timeout   time.Duration
}

// Uninstall deletes exactly what bootstrap has made. It ends runs, deletes queues while Kueue still runs to release
// them, then the controller, Kueue, Tekton, CRDs and namespaces. What holds objects of others stays, and so does what
// holds results of runs unless they may be deleted. The inventory of what stays is kept, so that a later call can
// finish.
func (h *Hub) Uninstall(ctx context.Context, o UninstallOptions) error {
	inv, err := ReadInventory(ctx, h.cluster)
	if err != nil {
		return err
	}
	if len(inv.Parts) == 0 {
		h.out.note("bflow is not installed here: nothing to do")
		return nil
	}
	data, err := h.dataOf(ctx, inv)
	if err != nil {
		return err
	}
	drop := o.Data
	if !drop && !data.Empty() && o.Ask != nil {
		drop = o.Ask(data.String() + " would go as well. Delete that too?")
	}
	r := removal{Hub: h, inventory: inv, data: data, drop: drop, timeout: o.Timeout}
	if r.timeout == 0 {
		r.timeout = defaultUninstallTimeout
	}
	return r.run(ctx)
}

func (r *removal) run(ctx context.Context) error {
	steps := []step{
		{"looking for the controller that releases runs",
			func(ctx context.Context) error { return r.requireController(ctx, "") }},
		{"ending matrices", r.endMatrices},
		{"ending runs", r.endRuns},
		{"deleting targets", r.deleteTargets},
	}
	for _, d := range r.lastFirst() {
		if d.DrainFirst {
			steps = append(steps, step{"deleting objects of " + d.Name,
				func(ctx context.Context) error { return r.deleteInstances(ctx, d.Part) }})
		}
		steps = append(steps, step{"deleting " + d.Name, func(ctx context.Context) error {
			return r.deletePart(ctx, d.Name, d.Part)
		}})
	}
	steps = append(steps, step{"deleting results", r.deleteResults}, step{"deleting CRDs", r.deleteDefinitions},
		step{"deleting namespaces", r.deleteNamespaces})
	for _, s := range steps {
		ctx, cancel := context.WithTimeout(ctx, r.timeout)
		err := s.do(ctx)
		cancel()
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// lastFirst returns the components that have a part, the last installed first.
func (r *removal) lastFirst() []component.Definition {
	var all []component.Definition
	for _, c := range slices.Backward(r.components()) {
		if d := c.Definition(); d.Part != "" {
			all = append(all, d)
		}
	}
	return all
}

// deleteTargets deletes what the hub has for its targets, and notes what they keep.
func (r *removal) deleteTargets(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(r.inventory.Settings.Targets)) {
		if err := r.deletePart(ctx, fmt.Sprintf("target %q", name), partTarget(name)); err != nil {
			return err
		}
		if _, err := r.remove(ctx, credentialsOf(name)); err != nil {
			return err
		}
		r.out.note(
			"target %q keeps namespaces, service accounts and RBAC of bflow: remove them with bflow target remove before "+
				"you uninstall", name)
	}
	return nil
}

// deletePart deletes the objects of a part phase by phase, except CRDs, namespaces, and the accounts by which results
// that stay are fetched.
func (r *removal) deletePart(ctx context.Context, name, part string) error {
	began, count := time.Now(), 0
	for _, phase := range apply.DeletePhases(r.soleRefs(part,
		func(ref apply.Ref) bool { return !isDefinition(ref) && !r.servesResults(ref) })) {
		deleted, err := r.remove(ctx, phase)
		if err != nil {
			return err
		}
		count += deleted
	}
	if count > 0 {
		r.out.done("%s (%d objects deleted, %s)", name, count, time.Since(began).Round(time.Second))
	}
	return nil
}

// servesResults reports whether results that stay are fetched by an object.
func (r *removal) servesResults(ref apply.Ref) bool {
	return isFetcher(ref) && r.holdsResults(apply.Ref{Kind: "Namespace", Name: ref.Namespace})
}

// isFetcher reports whether an object is the account of the pods that serve results. It has no rights and no token.
func isFetcher(ref apply.Ref) bool {
	return ref.Kind == "ServiceAccount" && ref.Name == contract.AccountLoad
}

// deleteInstances deletes the objects of the CRDs of a part, except those of others, if results may be deleted: only
// the controller of that part removes their finalizers.
func (r *removal) deleteInstances(ctx context.Context, part string) error {
	if !r.drop {
		return nil
	}
	for _, ref := range r.soleRefs(part, isCRD) {
		all, others, err := r.instances(ctx, ref)
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(u *unstructured.Unstructured) bool { return slices.Contains(others, u) })
		if _, err := r.remove(ctx, apply.RefsOf(all)); err != nil {
			return err
		}
	}
	return nil
}

// instances returns the objects of a CRD, and those of them that belong to others.
func (r *removal) instances(ctx context.Context, ref apply.Ref) (all, others []*unstructured.Unstructured, err error) {
	crd, err := r.cluster.Get(ctx, ref)
	if err != nil || crd == nil {
		return nil, nil, err
	}
	if all, err = r.cluster.List(ctx, kindOf(crd), "", ""); err != nil {
		return nil, nil, err
	}
	whose, err := r.origins(ctx, r.inventory)
	if err != nil {
		return nil, nil, err
	}
	for _, u := range all {
		origin, err := whose.Of(ctx, u)
		if err != nil {
			return nil, nil, err
		}
		if origin == content.OfOthers {
			others = append(others, u)
		}
	}
	return all, others, nil
}

// deleteDefinitions deletes the CRDs that have no objects, or only objects that may be deleted.
func (r *removal) deleteDefinitions(ctx context.Context) error {
	var going []apply.Ref
	var crds []apply.Ref
	for _, d := range r.lastFirst() {
		crds = append(crds, r.soleRefs(d.Part, isCRD)...)
	}
	for _, ref := range crds {
		all, others, err := r.instances(ctx, ref)
		switch {
		case err != nil:
			return err
		case len(others) > 0:
			r.out.note("%s stays: others have objects of it: %s", ref, content.Names(others))
		case len(all) > 0 && !r.drop:
			r.out.note("%s stays: there are %d objects of it", ref, len(all))
		default:
			going = append(going, ref)
		}
	}
	deleted, err := r.remove(ctx, going)
	if err == nil && deleted > 0 {
		r.out.done("CRDs (%d deleted)", deleted)
	}
	return err
}

// deleteNamespaces deletes the namespaces that bootstrap has made and that hold nothing that stays, releases those
// that existed before, and leaves bflow-system, with the inventory of what stays, to the end.
func (r *removal) deleteNamespaces(ctx context.Context) error {
	home := apply.Ref{Kind: "Namespace", Name: contract.NamespaceSystem}
	var all []Entry
	for _, entries := range r.inventory.Parts {
		all = append(all, slices.DeleteFunc(slices.Clone(entries),
			func(e Entry) bool { return !isNamespace(e.Ref) || e.Ref == home })...)
	}
	slices.SortFunc(all, func(a, b Entry) int { return a.Compare(b.Ref) })
	var going []apply.Ref
	for _, e := range all {
		switch {
		case e.Shared:
			if err := r.giveBack(ctx, e.Ref); err != nil {
				return err
			}
		case r.isVacant(ctx, e.Ref):
			going = append(going, e.Ref)
		}
	}
	deleted, err := r.remove(ctx, going)
	if err != nil {
		return err
	}
	left, err := r.remaining(ctx)
	if err != nil {
		return err
	}
	own, _ := r.inventory.Find(partBflow, home)
	own.Ref = home
	switch {
	case len(left.Parts) > 0 || !own.Shared && !r.isVacant(ctx, home):
		left = left.With(partBflow, []Entry{own})
		r.printWhatStays(left)
		return r.writeInventory(ctx, left)
	case own.Shared:
		if _, err := r.cluster.Delete(ctx, inventoryRef()); err != nil {
			return err
		}
		return r.giveBack(ctx, home)
	}
	if _, err := r.remove(ctx, []apply.Ref{home}); err != nil {
		return err
	}
	r.out.done("namespaces (%d deleted)", deleted+1)
	return nil
}

// isVacant reports whether nothing is lost with a namespace, and notes what would be. If that cannot be found out, it
// is false.
func (r *removal) isVacant(ctx context.Context, ref apply.Ref) bool {
	live, err := r.cluster.Get(ctx, ref)
	if err == nil && live == nil {
		return true
	}
	var c content.Content
	if err == nil {
		c, err = r.contentOf(ctx, ref.Name, r.inventory)
	}
	why := c.ReasonToStay(r.drop)
	if err != nil {
		why = err.Error()
	}
	if why != "" {
		r.out.note("%s stays: %s", ref, why)
	}
	return why == ""
}

// printWhatStays prints what a person can do about what stays.
func (r *removal) printWhatStays(left Inventory) {
	for _, e := range left.Parts[partBflow] {
		if r.holdsResults(e.Ref) {
			r.out.note("results in %q can still be fetched with bflow fetch RUN -n %s", e.Name, e.Name)
		}
	}
	r.out.note(
		"the inventory stays in %q: run bflow bootstrap uninstall again to delete what is left, with --data to delete "+
			"results as well",
		contract.NamespaceSystem)
}

// remove deletes objects and waits until they are gone. It counts those that existed.
func (r *removal) remove(ctx context.Context, refs []apply.Ref) (count int, err error) {
	for _, ref := range refs {
		was, err := r.cluster.Delete(ctx, ref)
		if err != nil {
			return count, err
		}
		if was {
			count++
		}
	}
	return count, r.cluster.Wait(ctx, refs, apply.Gone, r.out.waiting)
}

// giveBack removes our labels from a namespace that existed before.
func (r *removal) giveBack(ctx context.Context, ref apply.Ref) error {
	live, err := r.cluster.Get(ctx, ref)
	if err != nil || live == nil {
		return err
	}
	return r.cluster.Release(ctx, ref, live.GetAPIVersion())
}

// holdsResults reports whether results stay in a namespace.
func (r *removal) holdsResults(ref apply.Ref) bool {
	return isNamespace(ref) && r.data.In[ref.Name] > 0 && !r.drop
}

// remaining returns the inventory of what is still there, except bflow-system itself.
func (r *removal) remaining(ctx context.Context) (Inventory, error) {
	inv := Inventory{Settings: r.inventory.Settings, Parts: map[string][]Entry{}}
	var problems []error
	for part, entries := range r.inventory.Parts {
		for _, e := range entries {
			given := e.Shared && !r.holdsResults(e.Ref)
			if given || e.Namespace == contract.NamespaceSystem || isNamespace(e.Ref) && e.Name == contract.NamespaceSystem {
				continue
			}
			live, err := r.cluster.Get(ctx, e.Ref)
			problems = append(problems, err)
			if live != nil {
				inv.Parts[part] = append(inv.Parts[part], e)
			}
		}
	}
	return inv, errors.Join(problems...)
}

// soleRefs returns the objects of a part that are not shared and that pick accepts.
func (r *removal) soleRefs(part string, pick func(apply.Ref) bool) []apply.Ref {
	var refs []apply.Ref
	for _, e := range r.inventory.Parts[part] {
		if !e.Shared && pick(e.Ref) {
			refs = append(refs, e.Ref)
		}
	}
	return refs
}

func isCRD(ref apply.Ref) bool        { return ref.Kind == "CustomResourceDefinition" }
func isNamespace(ref apply.Ref) bool  { return ref.Kind == "Namespace" && ref.Group == "" }
func isDefinition(ref apply.Ref) bool { return isCRD(ref) || isNamespace(ref) }
