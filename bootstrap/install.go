package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"

	"bflow.dev/bflow/bootstrap/apply"
	"bflow.dev/bflow/bootstrap/content"
	"bflow.dev/bflow/runplan/contract"
)

// step is one step of an installation; errors quote its name.
type step struct {
	name string
	do   func(context.Context) error
}

// Install installs or repairs everything and waits until it works. A second call changes nothing.
func (h *Hub) Install(ctx context.Context, o Options) error {
	s, err := h.look(ctx, o)
	if err != nil {
		return err
	}
	if err := runSteps(ctx, []step{
		{"looking at the cluster", func(context.Context) error { return h.checkCluster(s) }},
		{"looking for images", func(ctx context.Context) error { return h.checkOwnImages(ctx, s) }},
		{"resolving images", func(ctx context.Context) error { return h.pin(ctx, &s) }},
		{"looking for objects of others", func(ctx context.Context) error { return h.claim(ctx, &s) }},
		{"checking what the server would reject", func(ctx context.Context) error { return h.checkConflicts(ctx, s) }},
		{"writing the inventory", func(ctx context.Context) error { return h.beginInventory(ctx, s) }},
	}); err != nil {
		return err
	}
	var steps []step
	for _, p := range s.parts {
		steps = append(steps, step{"installing " + p.Name, func(ctx context.Context) error { return h.install(ctx, p, s) }})
	}
	steps = append(steps, step{"finishing the inventory",
		func(ctx context.Context) error { return h.finishInventory(ctx, s) }})
	if err := runSteps(ctx, steps); err != nil {
		return err
	}
	return h.printLacking(s.options.settings(s.parts))
}

func runSteps(ctx context.Context, steps []step) error {
	for _, step := range steps {
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

// checkCluster fails if the cluster will not do, and notes what is left alone.
func (h *Hub) checkCluster(s survey) error {
	p := s.found.Platform
	platform := "Kubernetes " + p.Kubernetes
	if p.IsOpenShift() {
		platform = "OpenShift " + p.OpenShift + ", " + platform
	}
	h.out.done("%s, nodes: %d, %s", platform, s.found.Nodes.Count, describeDevices(s))
	var problems []error
	if !p.AdmissionPolicy {
		problems = append(problems, fmt.Errorf("%s has no ValidatingAdmissionPolicy; Kubernetes 1.30 or later is needed",
			platform))
	}
	for _, c := range s.components {
		e, foreign := isForeign(c, s.options, s.inventory)
		if !foreign {
			continue
		}
		h.out.note("%s %s by %s is left alone", c.Definition().Name, e.Installed().Version, e.Installed().By)
		notes, err := e.Check()
		for _, text := range notes {
			h.out.note("%s", text)
		}
		problems = append(problems, err)
	}
	if len(s.beside) > 0 {
		h.out.note("namespaces for runs are %s as before; remove one with bflow bootstrap namespace remove NAME",
			strings.Join(s.beside, ", "))
	}
	return errors.Join(append(problems, checkVersion(s))...)
}

func describeDevices(s survey) string {
	var all []string
	for _, d := range s.found.Nodes.Devices {
		all = append(all, fmt.Sprintf("%d %s", d.Total, strings.TrimSpace(d.Resource+" "+d.Product)))
	}
	if len(all) == 0 {
		return "no GPUs"
	}
	return strings.Join(all, ", ")
}

// checkVersion fails on an upgrade that was not asked for, and on a downgrade.
func checkVersion(s survey) error {
	var problems []error
	for _, p := range s.parts {
		have := s.inventory.Settings.Versions[p.Key]
		was, err := version.ParseGeneric(have)
		if have == p.Version || err != nil {
			continue
		}
		now, err := version.ParseGeneric(p.Version)
		switch {
		case err == nil && now.LessThan(was):
			problems = append(problems,
				fmt.Errorf("%s %s is installed, newer than %s of this bflow; use the bflow that installed it", p.Name, have,
					p.Version))
		case !s.options.Upgrade:
			problems = append(problems, fmt.Errorf("%s %s is installed and this bflow has %s; use bflow bootstrap upgrade",
				p.Name, have, p.Version))
		}
	}
	return errors.Join(problems...)
}

// claim adds every object to the inventory. A namespace that exists already is shared. Anything else that exists and
// is not ours belongs to somebody, and is taken over with --adopt only.
func (h *Hub) claim(ctx context.Context, s *survey) error {
	var strangers []error
	for _, p := range s.parts {
		var entries []Entry
		for _, ref := range apply.RefsOf(p.Objects) {
			if _, known := s.inventory.Find(p.Key, ref); known {
				continue
			}
			live, err := h.cluster.Get(ctx, ref)
			if err != nil {
				return err
			}
			there := live != nil && !apply.Owns(live)
			if there && ref.Kind != "Namespace" && !s.options.Adopt {
				strangers = append(strangers,
					fmt.Errorf("%s exists and was not created by bflow; remove it, or take it over with --adopt", ref))
			}
			entries = append(entries, Entry{Ref: ref, Shared: there && ref.Kind == "Namespace"})
		}
		s.inventory = s.inventory.With(p.Key, entries)
	}
	return errors.Join(strangers...)
}

// beginInventory writes the inventory with the settings, so that the call after one that was cut off continues with
// them. The namespace that holds it is written before.
func (h *Hub) beginInventory(ctx context.Context, s survey) error {
	home := apply.Ref{Kind: "Namespace", Name: contract.NamespaceSystem}
	for _, p := range s.parts {
		for _, o := range p.Objects {
			if apply.RefOf(o) != home {
				continue
			}
			if _, err := h.cluster.Apply(ctx, o, apply.Options{Force: s.options.Force}); err != nil {
				return err
			}
		}
	}
	s.inventory.Settings = s.options.settings(s.parts)
	return h.writeInventory(ctx, s.inventory)
}

// writeInventory writes an inventory. Nobody else writes to it, so conflicts are overridden.
func (h *Hub) writeInventory(ctx context.Context, inv Inventory) error {
	u, err := inv.Object()
	if err != nil {
		return err
	}
	_, err = h.cluster.Apply(ctx, u, apply.Options{Force: true})
	return err
}

// install writes the objects of a part, waits until they work, and deletes what an earlier installation had in
// addition.
func (h *Hub) install(ctx context.Context, p Part, s survey) error {
	began := time.Now()
	count, err := h.deploy(ctx, p, s)
	if err != nil {
		return err
	}
	pruned, err := h.prune(ctx, p, s.inventory)
	if err != nil {
		return err
	}
	h.out.done("%s %s (%s, %s)", p.Name, p.Version, describeCounts(len(p.Objects), count, pruned),
		time.Since(began).Round(time.Second))
	return nil
}

// deploy writes objects in phases and waits until they work. It counts what was done to them.
func (h *Hub) deploy(ctx context.Context, p Part, s survey) (map[apply.Action]int, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	count := map[apply.Action]int{}
	options := s.applyOptions(p)
	options.Say = h.out.waiting
	for i, phase := range apply.Phases(p.Objects) {
		var problems []error
		for _, o := range phase {
			change, err := h.cluster.Apply(ctx, o, options)
			if err != nil {
				problems = append(problems, err)
				continue
			}
			count[change.Action]++
			h.out.kept(change.Kept, s.options.Force)
			if change.Action == apply.Changed {
				h.out.waiting("changed " + change.String())
			}
		}
		if err := errors.Join(problems...); err != nil {
			return nil, err
		}
		if err := h.awaitPhase(ctx, i, phase, p.Ready); err != nil {
			return nil, err
		}
	}
	if err := h.cluster.Wait(ctx, apply.RefsOf(p.Objects), p.Ready, h.out.waiting); err != nil {
		return nil, err
	}
	return count, h.cluster.AwaitAnswer(ctx, p.Probe, p.Answer, h.out.waiting)
}

// awaitPhase waits for what the next phase needs: namespaces and CRDs before objects in them, and a running server
// before its API is registered, because the API server checks a failed registration only every half minute.
func (h *Hub) awaitPhase(ctx context.Context, phase int, objects []*unstructured.Unstructured,
	ready apply.Condition) error {
	switch phase {
	case apply.PhaseDefinitions:
		return h.cluster.Wait(ctx, apply.RefsOf(objects), apply.Established, h.out.waiting)
	case apply.PhaseWorkloads:
		return addRemedy(h.cluster.Wait(ctx, apply.RefsOf(objects), ready, h.out.waiting))
	}
	return nil
}

// addRemedy adds to an error what to do about it, if that is known.
func addRemedy(err error) error {
	if err != nil && strings.Contains(err.Error(), "ImagePull") {
		return fmt.Errorf(
			"%w; if the cluster cannot pull an image, use a mirror with --registry or --image-map (bflow bootstrap images "+
				"lists all images)", err)
	}
	return err
}

// prune deletes what an earlier installation had and this one does not. What people would miss stays: a namespace with
// results of runs, a CRD that is in use.
func (h *Hub) prune(ctx context.Context, p Part, inv Inventory) (int, error) {
	wanted := apply.RefsOf(p.Objects)
	var stale []apply.Ref
	for _, e := range inv.Parts[p.Key] {
		switch {
		case slices.Contains(wanted, e.Ref):
		case e.Shared:
			if err := h.cluster.Release(ctx, e.Ref, "v1"); err != nil {
				return 0, err
			}
		default:
			stale = append(stale, e.Ref)
		}
	}
	stale, err := h.withoutNeeded(ctx, stale, inv)
	if err != nil {
		return 0, err
	}
	count := 0
	for _, phase := range apply.DeletePhases(stale) {
		for _, ref := range phase {
			was, err := h.cluster.Delete(ctx, ref)
			if err != nil {
				return count, err
			}
			if was {
				count++
			}
		}
	}
	return count, nil
}

// withoutNeeded returns those of refs that nobody would miss. It leaves out CRDs that have objects, namespaces that
// hold results or objects of others, and the account by which the results in such a namespace are fetched.
func (h *Hub) withoutNeeded(ctx context.Context, refs []apply.Ref, inv Inventory) ([]apply.Ref, error) {
	whose, err := h.origins(ctx, inv)
	if err != nil {
		return nil, err
	}
	kept := map[string]bool{}
	var out []apply.Ref
	for _, ref := range refs {
		why, results, err := h.reasonToKeep(ctx, ref, whose)
		if err != nil {
			return nil, err
		}
		if why != "" {
			h.out.note("%s is no longer needed but stays: %s", ref, why)
			kept[ref.Name] = results
			continue
		}
		out = append(out, ref)
	}
	return slices.DeleteFunc(out, func(ref apply.Ref) bool { return kept[ref.Namespace] && isFetcher(ref) }), nil
}

// finishInventory writes the inventory of what is on the cluster now, with the settings of this installation.
func (h *Hub) finishInventory(ctx context.Context, s survey) error {
	inv := Inventory{Settings: s.options.settings(s.parts), Parts: map[string][]Entry{}}
	wanted := map[apply.Ref]bool{}
	for _, p := range s.parts {
		for _, ref := range apply.RefsOf(p.Objects) {
			wanted[ref] = true
		}
	}
	for part, entries := range s.inventory.Parts {
		for _, e := range entries {
			there := wanted[e.Ref]
			if !there && !e.Shared { // pruned, unless prune kept it
				live, err := h.cluster.Get(ctx, e.Ref)
				if err != nil {
					return err
				}
				there = live != nil && live.GetDeletionTimestamp() == nil
			}
			if there {
				inv.Parts[part] = append(inv.Parts[part], e)
			}
		}
	}
	return h.writeInventory(ctx, inv)
}

// describeCounts returns text such as "99 objects: 2 changed, 1 pruned"; unchanged objects are not counted.
func describeCounts(total int, count map[apply.Action]int, pruned int) string {
	var parts []string
	for _, p := range []struct {
		n    int
		word string
	}{{count[apply.Created], "created"}, {count[apply.Changed], "changed"}, {pruned, "pruned"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.word))
		}
	}
	if len(parts) == 0 {
		return fmt.Sprintf("%d objects, unchanged", total)
	}
	return fmt.Sprintf("%d objects: %s", total, strings.Join(parts, ", "))
}

// reasonToKeep returns what people would lose with an object, "" if nothing, and whether that includes results.
func (h *Hub) reasonToKeep(ctx context.Context, ref apply.Ref,
	whose *content.Origins) (why string, results bool, err error) {
	if !isDefinition(ref) {
		return "", false, nil
	}
	live, err := h.cluster.Get(ctx, ref)
	if err != nil || live == nil {
		return "", false, err
	}
	if isNamespace(ref) {
		c, err := whose.In(ctx, ref.Name)
		return c.ReasonToStay(false), len(c.Results) > 0, err
	}
	all, err := h.cluster.List(ctx, kindOf(live), "", "")
	if err != nil || len(all) == 0 {
		return "", false, err
	}
	return fmt.Sprintf("there are %d objects of it", len(all)), false, nil
}

func kindOf(crd *unstructured.Unstructured) (kind schema.GroupKind) {
	kind.Group, _, _ = unstructured.NestedString(crd.Object, "spec", "group")
	kind.Kind, _, _ = unstructured.NestedString(crd.Object, "spec", "names", "kind")
	return kind
}
