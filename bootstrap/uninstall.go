package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"bflow.dev/bflow/bootstrap/apply"
	"bflow.dev/bflow/tasks/contract"
)

// UninstallOptions are the wishes for taking an installation away.
type UninstallOptions struct {
	Data    bool                            // results, and whatever else lies where ours was, may go as well
	Ask     func(question string) (ok bool) // asked before data goes; nil keeps it
	Timeout time.Duration                   // for each step; 0 = 15 minutes, because ending a run may take 10
}

const defaultUninstallTimeout = 15 * time.Minute

// removal is an uninstallation under way.
type removal struct {
	*Hub
	inventory Inventory
	data      Data
	drop      bool // data goes
	timeout   time.Duration
}

// Uninstall takes away exactly what we own: runs are ended, queues go while Kueue still lives to let them, then the
// controller, Kueue, Tekton, CRDs and namespaces. What holds data of runs, or objects of others, stays unless it was said
// to go; the inventory stays with it, so that a later call can finish.
func (h *Hub) Uninstall(ctx context.Context, o UninstallOptions) error {
	inv, err := ReadInventory(ctx, h.cluster)
	if err != nil {
		return err
	}
	if len(inv.Parts) == 0 {
		h.note("bflow is not installed here: nothing to do")
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
	for _, s := range []step{
		{"ending matrices", r.endMatrices},
		{"ending runs", r.endRuns},
		{"deleting targets", r.targets},
		{"deleting queues and the controller", func(ctx context.Context) error { return r.part(ctx, "bflow", partBflow) }},
		{"deleting objects of Kueue", r.queued},
		{"deleting Kueue", func(ctx context.Context) error { return r.part(ctx, "Kueue", partKueue) }},
		{"deleting Tekton", func(ctx context.Context) error { return r.part(ctx, "Tekton", partTekton) }},
		{"deleting CRDs", r.definitions},
		{"deleting namespaces", r.namespaces},
	} {
		ctx, cancel := context.WithTimeout(ctx, r.timeout)
		err := s.do(ctx)
		cancel()
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// targets deletes what the hub has for its targets, and says what they keep.
func (r *removal) targets(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(r.inventory.Settings.Targets)) {
		if err := r.part(ctx, fmt.Sprintf("target %q", name), partTarget(name)); err != nil {
			return err
		}
		if _, err := r.remove(ctx, credentialsOf(name)); err != nil {
			return err
		}
		r.note("target %q keeps namespaces, accounts and rights of bflow: bflow target remove takes them away before an uninstallation", name)
	}
	return nil
}

// part deletes the objects of a part except CRDs and namespaces, phase by phase.
func (r *removal) part(ctx context.Context, name, part string) error {
	began, count := time.Now(), 0
	for _, phase := range apply.DeletePhases(r.owned(part, func(ref apply.Ref) bool { return !defines(ref) })) {
		deleted, err := r.remove(ctx, phase)
		if err != nil {
			return err
		}
		count += deleted
	}
	if count > 0 {
		r.done("%s (%d objects deleted, %s)", name, count, time.Since(began).Round(time.Second))
	}
	return nil
}

// queued deletes what others have in our Kueue, when that may go: only a living Kueue takes its finalizers off.
func (r *removal) queued(ctx context.Context) error {
	if !r.drop {
		return nil
	}
	for _, ref := range r.owned(partKueue, isCRD) {
		crd, err := r.cluster.Get(ctx, ref)
		if err != nil {
			return err
		}
		if crd == nil {
			continue
		}
		all, err := r.cluster.List(ctx, kindOf(crd), "", "")
		if err != nil {
			return err
		}
		if _, err := r.remove(ctx, apply.RefsOf(all)); err != nil {
			return err
		}
	}
	return nil
}

// definitions deletes the CRDs of which there is nothing, or all when data goes.
func (r *removal) definitions(ctx context.Context) error {
	var going []apply.Ref
	for _, ref := range append(r.owned(partKueue, isCRD), r.owned(partTekton, isCRD)...) {
		used, err := r.used(ctx, ref)
		if err != nil {
			return err
		}
		if used > 0 && !r.drop {
			r.note("%s stays: there are %d objects of it", ref, used)
			continue
		}
		going = append(going, ref)
	}
	deleted, err := r.remove(ctx, going)
	if err == nil && deleted > 0 {
		r.done("CRDs (%d deleted)", deleted)
	}
	return err
}

// namespaces deletes those that we made and that hold no data, gives back those that were there before, and leaves our
// own, with the inventory of what stayed, to the end.
func (r *removal) namespaces(ctx context.Context) error {
	home := apply.Ref{Kind: "Namespace", Name: contract.NamespaceSystem}
	var going []apply.Ref
	for part, entries := range r.inventory.Parts {
		for _, e := range entries {
			switch {
			case !isNamespace(e.Ref) || e.Ref == home:
			case e.Shared:
				if err := r.giveBack(ctx, e.Ref); err != nil {
					return err
				}
			case part == partBflow && r.data.In[e.Name] > 0 && !r.drop:
				r.note("%s stays: it holds data of runs", e.Ref)
			default:
				going = append(going, e.Ref)
			}
		}
	}
	slices.SortFunc(going, apply.Ref.Compare)
	deleted, err := r.remove(ctx, going)
	if err != nil {
		return err
	}
	left, err := r.left(ctx)
	if err != nil {
		return err
	}
	if len(left.Parts) > 0 {
		r.note("the inventory stays in %s: bflow bootstrap uninstall --data deletes the rest", home)
		return r.write(ctx, left)
	}
	if e, ok := r.inventory.Find(partBflow, home); ok && e.Shared {
		if _, err := r.cluster.Delete(ctx, inventoryRef()); err != nil {
			return err
		}
		return r.giveBack(ctx, home)
	}
	if _, err := r.remove(ctx, []apply.Ref{home}); err != nil {
		return err
	}
	r.done("namespaces (%d deleted)", deleted+1)
	return nil
}

// remove deletes objects and waits until they are gone. It counts those that were there.
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
	return count, r.cluster.Wait(ctx, refs, apply.Gone, r.waiting)
}

// giveBack takes our labels off a namespace that was there before us, and with data what runs left in it.
func (r *removal) giveBack(ctx context.Context, ref apply.Ref) error {
	live, err := r.cluster.Get(ctx, ref)
	if err != nil || live == nil {
		return err
	}
	if r.drop {
		if err := r.sweep(ctx, ref.Name); err != nil {
			return err
		}
	}
	return r.cluster.Release(ctx, ref, live.GetAPIVersion())
}

// left is the inventory of what is still there, our own namespace apart.
func (r *removal) left(ctx context.Context) (Inventory, error) {
	inv := Inventory{Settings: r.inventory.Settings, Parts: map[string][]Entry{}}
	var problems []error
	for part, entries := range r.inventory.Parts {
		for _, e := range entries {
			if e.Shared || e.Namespace == contract.NamespaceSystem || e.Kind == "Namespace" && e.Name == contract.NamespaceSystem {
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

// owned are the objects of a part that are ours alone and that pick wants.
func (r *removal) owned(part string, pick func(apply.Ref) bool) []apply.Ref {
	var refs []apply.Ref
	for _, e := range r.inventory.Parts[part] {
		if !e.Shared && pick(e.Ref) {
			refs = append(refs, e.Ref)
		}
	}
	return refs
}

func isCRD(ref apply.Ref) bool       { return ref.Kind == "CustomResourceDefinition" }
func isNamespace(ref apply.Ref) bool { return ref.Kind == "Namespace" && ref.Group == "" }
func defines(ref apply.Ref) bool     { return isCRD(ref) || isNamespace(ref) }
