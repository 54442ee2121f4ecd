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
	Adopt   bool          // add: take over objects that somebody else created
	Force   bool          // add: take ownership of fields of other field managers
	Data    bool          // remove: also delete the results of runs
	Wait    time.Duration // remove: how long to wait for runs to end; 0 = do not wait
	Timeout time.Duration // for objects to become ready or to be deleted; 0 = 5 minutes
}

// Validate returns an error for every invalid option.
func (o NamespaceOptions) Validate() error { return Options{Namespaces: []string{o.Name}}.Validate() }

// membership is a namespace of an installation that comes or goes, and what that changes.
type membership struct {
	*Hub
	o       NamespaceOptions
	s       survey
	others  []string         // the other namespaces of runs
	with    []Part           // the installation with the namespace
	without map[string]byRef // by part: the installation without it
}

type byRef = map[apply.Ref]*unstructured.Unstructured

// lookAtNamespace reads the installation; with and without the namespace are what this bflow would install.
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
		return nil, errors.New("it is the only namespace for runs; update it with bflow bootstrap upgrade, or remove it with bflow bootstrap uninstall")
	}
	with := s.options
	with.Namespaces = append(slices.Clone(m.others), o.Name)
	if slices.Contains(s.options.Namespaces, o.Name) {
		with.Namespaces = s.options.Namespaces // in its place among the others
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

// withoutNamespace are the targets when a namespace is gone.
func withoutNamespace(targets map[string]TargetSettings, name string) map[string]TargetSettings {
	targets = maps.Clone(targets)
	for target, settings := range targets {
		settings.Namespaces = slices.DeleteFunc(slices.Clone(settings.Namespaces), func(n string) bool { return n == name })
		targets[target] = settings
	}
	return targets
}

// changedParts are the objects that are there, or other ones, because of the namespace, by component.
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

// AddNamespace sets up a namespace for runs, or updates its setup. The rest of the installation stays unchanged,
// except for the list of namespaces that the controller reads.
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
		h.printDone("%s (%s, %s)", p.Name, describeCounts(len(p.Objects), count, 0), time.Since(began).Round(time.Second))
	}
	m.printTargets("knows namespace %q only when it is added again: bflow target add %s --kubeconfig FILE")
	return nil
}

// printTargets tells of what lies on other clusters, which only an administrator of theirs can change. The text is about the
// namespace and the name of a target.
func (m *membership) printTargets(text string) {
	for _, name := range slices.Sorted(maps.Keys(m.s.options.Targets)) {
		all := m.s.options.Targets[name].Namespaces
		if len(all) == 0 || slices.Contains(all, m.o.Name) {
			m.printNote("target %q "+text, name, m.o.Name, name)
		}
	}
}
