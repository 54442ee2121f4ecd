package platform

//go:generate go test . -run Written -update

import (
	"fmt"
	"strings"

	"bflow.dev/bflow/runplan"
)

// All are the platforms that bflow knows, in the order in which messages name them. A new one is a line here.
func All() Registry {
	return NewRegistry(
		rhaiis(),
		rhoai(),
		llmd(),
		kubernetes(),
		endpoint(),
	)
}

// Registry is a list of platforms.
type Registry []*Platform

// NewRegistry makes a registry, with the usual functions where a platform names none.
func NewRegistry(all ...Platform) Registry {
	r := make(Registry, len(all))
	for i, p := range all {
		r[i] = complete(p)
	}
	return r
}

// OrAll is r, or every platform where r is nil.
func (r Registry) OrAll() Registry {
	if r == nil {
		return All()
	}
	return r
}

// Find returns a platform by name, nil where there is none.
func (r Registry) Find(name string) *Platform {
	for _, p := range r {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Named returns the platform that a file or a plan names. One that is not known has nothing of its own.
func (r Registry) Named(name string) *Platform {
	if p := r.Find(name); p != nil {
		return p
	}
	return complete(Platform{Name: name})
}

// Of returns what serves a deployment: its platform, or the existing endpoint. Plans made by hand name no platform.
func (r Registry) Of(d *runplan.Deployment) (*Platform, error) {
	name := d.Platform
	switch {
	case d.Endpoint != nil:
		name = nameEndpoint
	case name == "":
		name = nameKubernetes
	}
	if p := r.Find(name); p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("platform %q is unknown; use one of %s", name, strings.Join(r.Names(), ", "))
}

// Names are the names that files may give as their platform.
func (r Registry) Names() []string { return r.namesOf(func(*Platform) bool { return true }) }

// namesOf are those of them that meet a condition.
func (r Registry) namesOf(meets func(*Platform) bool) []string {
	var names []string
	for _, p := range r {
		if len(p.Modes) > 0 && meets(p) {
			names = append(names, p.Name)
		}
	}
	return names
}

// WithProfiling names the platforms whose workers can be profiled.
func (r Registry) WithProfiling() string {
	return strings.Join(r.namesOf(func(p *Platform) bool { return p.Profiling }), ", ")
}

// WithAnyEngine names the platforms that run every engine.
func (r Registry) WithAnyEngine() string {
	names := r.namesOf(func(p *Platform) bool { return p.AnyEngine })
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return names[0] + " (or " + strings.Join(names[1:], ", ") + ")"
}

// InPlans returns what plans call a mode of a platform: those with two names have the first one there.
func (r Registry) InPlans(v Variant) Variant {
	if same := r.Named(v.Platform).Mode(v.Mode).Plan; same != (Variant{}) {
		return same
	}
	return v
}

// Sealer returns one by which the hash of a plan covers of its deployment what its platform says.
func (r Registry) Sealer() *runplan.Sealer {
	return &runplan.Sealer{Identity: func(d *runplan.Deployment) { r.Named(d.Platform).Identity(d) }}
}
