package plan

import (
	"fmt"
	"strings"

	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/platform"
	"bflow.dev/bflow/platform/engine"
	"bflow.dev/bflow/runplan"
)

// check finds what only the layers together break: each of them alone was valid.
func (p *point) check(profile *spec.DeploymentProfile, d *spec.DeploymentSpec, existing bool) {
	where := p.platforms.Named(d.Platform)
	findings := spec.CheckDeployment(d, p.platforms)
	if !existing {
		findings = append(findings, spec.CheckImage(d, p.platforms)...)
	}
	for _, f := range findings {
		if f.Warning || strings.HasPrefix(f.Path, "runtime.placement") && p.fromOverrides(f.Path) {
			continue // the profile's warnings are known; placement is reported once for all points
		}
		p.problems.Add(p.locate(profile, f.Path, "%s", f.Text))
	}
	p.checkEngine(profile, d, where)
	if image := d.SchedulerImage; image != "" && !where.Mode(d.Mode).Scheduler && p.fromOverrides("images.scheduler") {
		p.problems.Add(p.locate(profile, "images.scheduler",
			"%q cannot apply: deployment_profile %q has no endpoint picker (%s/%s)", image, profile.Metadata.Name, d.Platform,
			d.Mode))
	}
	if profiling := p.spec("execution").Execution.Profiling; profiling != nil && profiling.Enabled && !where.Profiling {
		p.problems.Add(p.exp.Problem("spec.execution.profiling",
			"profiling needs platform %s, but deployment_profile %q is for %s",
			p.platforms.WithProfiling(), profile.Metadata.Name, d.Platform))
	}
}

func (p *point) checkEngine(profile *spec.DeploymentProfile, d *spec.DeploymentSpec, where *platform.Platform) {
	server := engineOf(d, where)
	kind := engine.Of(server.Kind)
	switch {
	case kind.Kind != engine.Default && !where.AnyEngine:
		p.problems.Add(p.locate(profile, "engine.kind",
			"engine %q runs only on platform %s, but deployment_profile %q is for %s",
			kind.Kind, p.platforms.WithAnyEngine(), profile.Metadata.Name, d.Platform))
	case kind.Route != nil && where.OpenAIOnly:
		p.problems.Add(p.locate(profile, "engine.kind",
			"engine %q does not speak the API of OpenAI, and platform %s routes no other requests", kind.Kind, d.Platform))
	case kind.MetricsOf == "" && where.OpenAIOnly && d.Options.EPPConfig == "":
		p.problems.Add(p.locate(profile, "engine.kind", "an endpoint picker does not know the metrics of engine %q, so it "+
			"would route by nothing; say in options.epp_config how it reads them (core-metrics-extractor)", kind.Kind))
	case kind.NoVLLMArgs && len(d.Runtime.VLLMArgs) > 0:
		p.problems.Add(p.locate(profile, "runtime.vllm_args",
			"engine %q takes no vLLM arguments, found %q; clear them with vllm_args: []", kind.Kind, d.Runtime.VLLMArgs))
	case kind.NeedsCommand && len(server.Command) == 0:
		p.problems.Add(p.locate(profile, "engine.command", "engine %q needs a command", kind.Kind))
	default:
		for _, f := range where.CheckEngine(&d.Block, &server) {
			p.problems.Add(p.locate(profile, f.Path, "%s", f.Text))
		}
	}
}

// checkPlatform finds a point whose platform bflow cannot deploy yet. The problem is where the experiment names the
// profile.
func (p *point) checkPlatform(plan *runplan.RunPlan) {
	if text := p.opt.Undeployable.Says(plan, p.platforms); text != "" {
		found := p.exp.Problem(p.reference(atDeploy, p.digits), "%s", text)
		found.Warning = p.opt.Undeployable == WarnUndeployable
		p.problems.Add(found)
	}
}

// Says is what is wrong with a plan whose platform bflow does not know or cannot deploy yet, "" where nothing is.
func (u Undeployable) Says(plan *runplan.RunPlan, platforms platform.Registry) string {
	if u == IgnoreUndeployable || !plan.Execution.Phases.Deploy {
		return ""
	}
	where, err := platforms.Of(&plan.Deployment)
	if err != nil {
		return err.Error()
	}
	if lacking := where.LacksFor(&plan.Deployment); lacking != "" {
		return where.Undeployable(plan.Deployment.Profile, lacking)
	}
	return ""
}

// fromOverrides reports whether an override names the value at path (relative to a profile's spec).
func (p *point) fromOverrides(path string) bool { return p.overriddenAt(path) != "" }

// overriddenAt returns the strongest place in the experiment that names the value at path, "" when none does.
func (p *point) overriddenAt(path string) string {
	parsed, err := spec.ParsePath(path)
	if err != nil {
		return ""
	}
	model := spec.Path{{Key: "spec"}, {Key: "model_overrides"}, {Key: p.model()}}
	places := []spec.Path{append(model, parsed...), append(spec.Path{{Key: "spec"}, {Key: "overrides"}}, parsed...)}
	if parsed[0].Key == "engine" {
		places = append(places, inSpec(parsed))
	}
	for _, place := range places {
		if spec.Get(p.exp.Root, place) != nil {
			return place.String()
		}
	}
	return ""
}

// locate is a problem at path, which is relative to a profile's spec: at the override that names it, else in the
// profile.
func (p *point) locate(profile *spec.DeploymentProfile, path, format string, args ...any) problem.Problem {
	place := p.extraArgumentAt(profile, path)
	if place == "" {
		place = p.overriddenAt(path)
	}
	if place != "" {
		return p.exp.Problem(place, format, args...)
	}
	return profile.Problem("spec."+path, format, args...)
}

// extraArgumentAt is the place of an argument that an override adds to those of vLLM, "" of anything else.
func (p *point) extraArgumentAt(profile *spec.DeploymentProfile, path string) string {
	const extra = "runtime.vllm_extra_args"
	var i int
	if _, err := fmt.Sscanf(path, "runtime.vllm_args[%d]", &i); err != nil {
		return ""
	}
	l := p.layers()
	over, own := &l.over.Runtime, &l.own.Runtime
	i -= len(whole(profile.Spec.Runtime.VLLMArgs, over.VLLMArgs, own.VLLMArgs))
	layer := spec.Path{{Key: "spec"}, {Key: "overrides"}}
	if n := len(over.VLLMExtraArgs); i >= n {
		i -= n
		layer = spec.Path{{Key: "spec"}, {Key: "model_overrides"}, {Key: p.model()}}
	}
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("%s.%s[%d]", layer, extra, i)
}

// unpinned reports names without an immutable form, as pins.require asks.
func (p *point) unpinned(n *pinner) problem.List {
	var problems problem.List
	if n.pins.Require != "warn" && n.pins.Require != "all" {
		return nil
	}
	for _, name := range n.unpinned {
		found := p.exp.Problem("spec.pins.require", "%s is not pinned; add it to spec.pins, to the image lock, or use --pin",
			name)
		found.Warning = n.pins.Require == "warn"
		problems.Add(found)
	}
	return problems
}
