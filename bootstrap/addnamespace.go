package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/bootstrap/apply"
)

// NamespaceOptions configures AddNamespace and RemoveNamespace.
type NamespaceOptions struct {
	Name    string
	Version string        // of bflow
	Adopt   bool          // when adding: take over objects of ours that somebody else has made there
	Force   bool          // when adding: take fields that somebody else owns
	Data    bool          // when removing: delete results of runs as well
	Wait    time.Duration // when removing: how long to wait for runs to end; 0 = not at all
	Timeout time.Duration // for objects to become ready, or to be gone; 0 = 5 minutes
}

// Validate checks the options without asking the cluster.
func (o NamespaceOptions) Validate() error { return Options{Namespaces: []string{o.Name}}.Validate() }

// membership is a namespace of runs that is being added or removed, and what that changes.
type membership struct {
	*Hub
	o       NamespaceOptions
	s       survey
	others  []string         // the other namespaces of runs
	with    []Part           // the installation with it
	without map[string]byRef // the installation without it, by part
}

type byRef = map[apply.Ref]*unstructured.Unstructured

// lookAtNamespace reads the installation and renders it with and without the namespace, as this bflow would install
// it.
func (h *Hub) lookAtNamespace(ctx context.Context, o NamespaceOptions) (*membership, error) {
	s, err := h.look(ctx, Options{Version: o.Version, Adopt: o.Adopt, Force: o.Force, Timeout: o.Timeout})
	if err != nil {
		return nil, err
	}
	if len(s.inventory.Parts[partBflow]) == 0 {
		return nil, errors.New("bflow is not installed here; use bflow bootstrap --single-cluster --namespace " + o.Name)
	}
	if err := checkVersion(s); err != nil {
		return nil, err
	}
	m := &membership{Hub: h, o: o, s: s, without: map[string]byRef{}}
	m.others = slices.DeleteFunc(slices.Clone(s.options.Namespaces), func(n string) bool { return n == o.Name })
	if len(m.others) == 0 {
		return nil,
			errors.New(
				"it is the only namespace for runs; update it with bflow bootstrap upgrade, or remove it with bflow bootstrap " +
					"uninstall")
	}
	with := s.options
	with.Namespaces = append(slices.Clone(m.others), o.Name)
	if slices.Contains(s.options.Namespaces, o.Name) {
		with.Namespaces = s.options.Namespaces // keep the order of the inventory
	}
	if m.with, err = render(with, s.components, s.found, s.inventory); err != nil {
		return nil, err
	}
	rest := s.options
	rest.Namespaces, rest.Targets = m.others, withoutNamespace(rest.Targets, o.Name)
	all, err := render(rest, s.components, s.found, s.inventory)
	for _, p := range all {
		m.without[p.Key] = byRef{}
		for _, o := range p.Objects {
			m.without[p.Key][apply.RefOf(o)] = o
		}
	}
	return m, err
}

// withoutNamespace returns the targets without a namespace.
func withoutNamespace(targets map[string]TargetSettings, name string) map[string]TargetSettings {
	targets = maps.Clone(targets)
	for target, settings := range targets {
		settings.Namespaces = slices.DeleteFunc(slices.Clone(settings.Namespaces), func(n string) bool { return n == name })
		targets[target] = settings
	}
	return targets
}

// changedParts returns the objects that exist, or differ, because of the namespace, by part.
func (m *membership) changedParts() []Part {
	var out []Part
	for _, p := range m.with {
		before := m.without[p.Key]
		p.Name = fmt.Sprintf("namespace %q, %s", m.o.Name, p.Name)
		p.Probe, p.Answer = nil, nil
		p.Objects = slices.DeleteFunc(slices.Clone(p.Objects), func(o *unstructured.Unstructured) bool {
			was := before[apply.RefOf(o)]
			return was != nil && reflect.DeepEqual(was.Object, o.Object)
		})
		if len(p.Objects) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// AddNamespace makes a namespace one of runs, or repairs one. The rest of the installation stays as it is, except for
// the objects that name the namespaces of runs.
func (h *Hub) AddNamespace(ctx context.Context, o NamespaceOptions) error {
	if err := h.addNamespace(ctx, o); err != nil {
		return fmt.Errorf("adding namespace %q: %w", o.Name, err)
	}
	return nil
}

func (h *Hub) addNamespace(ctx context.Context, o NamespaceOptions) error {
	m, err := h.lookAtNamespace(ctx, o)
	if err != nil {
		return err
	}
	s := m.s
	s.parts = m.changedParts()
	if err := h.claim(ctx, &s); err != nil {
		return err
	}
	if err := h.checkConflicts(ctx, s); err != nil {
		return err
	}
	if !slices.Contains(s.options.Namespaces, o.Name) {
		s.inventory.Settings.Namespaces = append(slices.Clone(s.options.Namespaces), o.Name)
	}
	if err := h.writeInventory(ctx, s.inventory); err != nil {
		return err
	}
	for _, p := range s.parts {
		began := time.Now()
		count, err := h.deploy(ctx, p, s)
		if err != nil {
			return err
		}
		h.out.done("%s (%s, %s)", p.Name, describeCounts(len(p.Objects), count, 0), time.Since(began).Round(time.Second))
	}
	m.printTargets("does not know namespace %q until it is added again: bflow target add %s --kubeconfig FILE")
	return nil
}

// printTargets prints a note per target that knows the namespace: only an administrator of that cluster can change its
// side. The text has verbs for the namespace and for the name of the target.
func (m *membership) printTargets(text string) {
	for _, name := range slices.Sorted(maps.Keys(m.s.options.Targets)) {
		all := m.s.options.Targets[name].Namespaces
		if len(all) == 0 || slices.Contains(all, m.o.Name) {
			m.out.note("target %q "+text, name, m.o.Name, name)
		}
	}
}
