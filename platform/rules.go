package platform

import (
	"maps"
	"slices"

	"bflow.dev/bflow/internal/problem"
)

// Check finds rules that b breaks: those of every platform, and those of its own. It serves a profile, and a resolved
// point whose overrides are already in b. Paths are relative to spec.
func (r Registry) Check(b *Block) problem.Findings {
	var out problem.Findings
	p := r.Named(b.Platform)
	if modes := p.ModeNames(); len(modes) > 0 && b.Mode != "" && !slices.Contains(modes, b.Mode) {
		out.Add("mode", "platform %s has modes %q, found %q%s", b.Platform, modes, b.Mode, problem.Nearest(b.Mode, modes))
	}
	out.Under("runtime", CheckMounts(b.Runtime.HostPaths, b.Runtime.PVCMounts))
	out.Under("runtime", checkClaims(b.Runtime.PVCMounts))
	out.Under("runtime.placement", b.Runtime.Placement.Check())
	out.Under("runtime.resources", b.Runtime.Resources.Check())
	out.Under("options.epp_config", checkEPP(p.EPPVariables, b.Options.EPPConfig))
	out = append(out, r.checkFeatures(b)...)
	for _, name := range slices.Sorted(maps.Keys(b.Own)) {
		if name != b.Platform {
			out.Add(name, "only platform %s has these fields, found platform %s", name, b.Platform)
		}
	}
	return append(out, p.Check(b)...)
}

// checkFeatures finds fields of another platform, or of another mode.
func (r Registry) checkFeatures(b *Block) (out problem.Findings) {
	if b.Platform == "" {
		return nil
	}
	for _, p := range r {
		for _, f := range p.Features {
			switch {
			case !f.Used(b) || r.Named(b.Platform).has(f, b.Mode):
			case f.Fails:
				out.Add(f.Path, "%s, found %s/%s", f.Else, b.Platform, b.Mode)
			default:
				out.Warn(f.Path, "%s", f.Else)
			}
		}
	}
	return out
}

// Lacks returns the feature at a path where the platform and mode of b do not have it, else nil. Its second result says
// whether another mode of the same platform has it.
func (r Registry) Lacks(b *Block, path string) (missing *Feature, inOtherMode bool) {
	for _, p := range r {
		for i, f := range p.Features {
			if f.Path == path && !r.Named(b.Platform).has(f, b.Mode) {
				return &p.Features[i], p.Name == b.Platform
			}
		}
	}
	return nil, false
}
