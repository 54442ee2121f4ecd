package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/bootstrap/apply"
	"bflow.dev/bflow/runplan/contract"
)

// RemoveNamespace drains a namespace of runs and deletes what bootstrap made in it. It fails while runs are queued or
// running there, unless it may wait for them. The namespace itself is deleted if bootstrap made it and it holds
// neither results nor objects of others.
func (h *Hub) RemoveNamespace(ctx context.Context, o NamespaceOptions) error {
	if err := h.removeNamespace(ctx, o); err != nil {
		return fmt.Errorf("removing namespace %q: %w", o.Name, err)
	}
	return nil
}

func (h *Hub) removeNamespace(ctx context.Context, o NamespaceOptions) error {
	m, err := h.lookAtNamespace(ctx, o)
	if err != nil {
		return err
	}
	ref := apply.Ref{Kind: "Namespace", Name: o.Name}
	own, known := m.s.inventory.Find(partBflow, ref)
	if !known || !slices.Contains(m.s.options.Namespaces, o.Name) {
		return fmt.Errorf("it is not one of the namespaces for runs: %s", strings.Join(m.s.options.Namespaces, ", "))
	}
	for target, settings := range m.s.options.Targets {
		if slices.Equal(settings.Namespaces, []string{o.Name}) {
			return fmt.Errorf(
				"target %q serves only its runs; open the target to other namespaces with bflow target add %s --namespace, or "+
					"remove the target first", target, target)
		}
	}
	if err := m.drain(ctx); err != nil {
		return err
	}
	timeout := o.Timeout
	if timeout == 0 {
		timeout = defaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for _, s := range []step{
		{"deleting results", m.deleteResults},
		{"updating the controller", func(ctx context.Context) error { return m.withdrawController(ctx, own) }},
		{"deleting its objects", func(ctx context.Context) error { return m.deleteObjects(ctx, own) }},
		{"finishing the inventory", m.forgetNamespace},
	} {
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	m.printTargets("keeps namespace %q and the service accounts in it; an administrator of %s can delete them")
	m.out.done("namespace %q is removed", o.Name)
	return nil
}

// drain returns when nothing is queued or running there and nothing more can start.
func (m *membership) drain(ctx context.Context) error {
	if err := m.requireController(ctx, m.o.Name); err != nil {
		return err
	}
	if m.o.Wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, m.o.Wait)
		defer cancel()
	}
	for {
		there, err := m.active(ctx)
		if err != nil {
			return err
		}
		if len(there) == 0 { // runs that are queued from now on wait behind a stopped queue
			if err := m.setHold(ctx, true); err != nil {
				return err
			}
			if there, err = m.active(ctx); err != nil || len(there) == 0 {
				return err
			}
			if err := m.setHold(ctx, false); err != nil {
				return err
			}
		}
		if m.o.Wait <= 0 {
			return fmt.Errorf(
				"it has active runs: %d, %s first; wait for them with --wait, or cancel them with bflow cancel RUN -n %s",
				len(there), there[0].Name, m.o.Name)
		}
		if err := m.awaitRelease(ctx, there, settledOrReleased); err != nil {
			return err
		}
	}
}

// active returns the runs and matrices that have not ended, or still hold resources.
func (m *membership) active(ctx context.Context) ([]apply.Ref, error) {
	var there []apply.Ref
	for _, look := range []func() ([]*unstructured.Unstructured, error){
		func() ([]*unstructured.Unstructured, error) {
			return m.cluster.List(ctx, customRunKind(), m.o.Name, selectMatrices)
		},
		func() ([]*unstructured.Unstructured, error) {
			return m.cluster.List(ctx, runKind(), m.o.Name, selectMatrices)
		},
		func() ([]*unstructured.Unstructured, error) {
			return m.cluster.List(ctx, runKind(), m.o.Name, selectRuns)
		},
	} {
		all, err := look()
		if err != nil {
			return nil, err
		}
		for _, u := range all {
			if ok, _ := settledOrReleased(u); !ok {
				there = append(there, apply.RefOf(u))
			}
		}
	}
	return there, nil
}

// settledOrReleased is satisfied when a run, or the CustomRun of a matrix, has ended and holds nothing.
func settledOrReleased(u *unstructured.Unstructured) (bool, string) {
	if u != nil && u.GetKind() == customRunKind().Kind {
		return settled(u)
	}
	return released(u)
}

// setHold stops the queues of the namespace, or lets them continue. A namespace that somebody has deleted has none.
func (m *membership) setHold(ctx context.Context, stop bool) error {
	if live, err := m.cluster.Get(ctx, apply.Ref{Kind: "Namespace", Name: m.o.Name}); err != nil || live == nil {
		return err
	}
	for _, p := range m.changedParts() {
		for _, o := range p.Objects {
			if o.GetKind() != "LocalQueue" {
				continue
			}
			o = o.DeepCopy()
			if stop {
				if err := unstructured.SetNestedField(o.Object, "Hold", "spec", "stopPolicy"); err != nil {
					return err
				}
			}
			// This overrides whoever stopped or resumed it before.
			if _, err := m.cluster.Apply(ctx, o, apply.Options{Force: true}); err != nil {
				return err
			}
		}
	}
	return nil
}

// deleteResults deletes the results in the namespace, if they may be deleted.
func (m *membership) deleteResults(ctx context.Context) error {
	if !m.o.Data {
		return nil
	}
	r := removal{Hub: m.Hub, inventory: m.s.inventory, drop: true}
	return r.sweep(ctx, m.o.Name)
}

// withdrawController makes the controller ignore the namespace before it loses its rights there: it removes the label
// of the namespace, and its name from the rest of the installation.
func (m *membership) withdrawController(ctx context.Context, own Entry) error {
	if err := m.unmark(ctx, own); err != nil {
		return err
	}
	s := m.s
	for _, p := range m.changedParts() {
		before := m.without[p.Key]
		p.Objects = slices.DeleteFunc(p.Objects,
			func(o *unstructured.Unstructured) bool { return before[apply.RefOf(o)] == nil })
		for i, o := range p.Objects {
			p.Objects[i] = before[apply.RefOf(o)]
		}
		if len(p.Objects) == 0 {
			continue
		}
		if _, err := m.deploy(ctx, p, s); err != nil {
			return err
		}
	}
	return nil
}

// unmark removes label bflow.dev/enabled from the namespace, and every field of ours from one that existed before.
func (m *membership) unmark(ctx context.Context, own Entry) error {
	live, err := m.cluster.Get(ctx, own.Ref)
	if err != nil || live == nil {
		return err
	}
	if own.Shared {
		return m.cluster.Release(ctx, own.Ref, live.GetAPIVersion())
	}
	return m.cluster.Merge(ctx, own.Ref, map[string]any{
		"metadata": map[string]any{"labels": map[string]any{contract.LabelEnabled: nil}}})
}

// deleteObjects deletes what exists because of the namespace, and then the namespace if nothing is lost with it.
func (m *membership) deleteObjects(ctx context.Context, own Entry) error {
	var going []apply.Ref
	for _, p := range m.changedParts() {
		before := m.without[p.Key]
		for _, ref := range apply.RefsOf(p.Objects) {
			e, known := m.s.inventory.Find(p.Key, ref)
			if before[ref] == nil && known && !e.Shared {
				going = append(going, ref)
			}
		}
	}
	began := time.Now()
	going, err := m.withoutNeeded(ctx, going, m.s.inventory)
	if err != nil {
		return err
	}
	r, count := removal{Hub: m.Hub}, 0
	for _, phase := range apply.DeletePhases(going) {
		deleted, err := r.remove(ctx, phase)
		if err != nil {
			return err
		}
		count += deleted
	}
	m.out.done("objects of namespace %q (%d deleted, %s)", own.Name, count, time.Since(began).Round(time.Second))
	return nil
}

// forgetNamespace keeps in the inventory what is still there: a namespace that had to stay, and the account by which
// its results are fetched.
func (m *membership) forgetNamespace(ctx context.Context) error {
	inv := Inventory{Settings: m.s.inventory.Settings, Parts: map[string][]Entry{}}
	inv.Settings.Namespaces, inv.Settings.Targets = m.others, withoutNamespace(inv.Settings.Targets, m.o.Name)
	ref := apply.Ref{Kind: "Namespace", Name: m.o.Name}
	var problems []error
	for part, entries := range m.s.inventory.Parts {
		for _, e := range entries {
			gone := e.Shared && e.Ref == ref
			if kept, known := m.without[part]; known && kept[e.Ref] == nil && !gone {
				live, err := m.cluster.Get(ctx, e.Ref)
				problems = append(problems, err)
				gone = err == nil && live == nil
			}
			if !gone {
				inv.Parts[part] = append(inv.Parts[part], e)
			}
		}
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	return m.writeInventory(ctx, inv)
}
