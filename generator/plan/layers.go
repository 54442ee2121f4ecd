package plan

import (
	"maps"
	"reflect"
	"slices"

	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/platform"
)

// layers are what a deployment is made of, weakest first: the profile, overrides, the overrides of the model. A value
// that a flag set is in overrides, and the loader took weaker ones out of the model's.
type layers struct {
	*source
	digits    []int
	over      *spec.Overrides
	own       spec.Overrides // of the model
	engine    *spec.Engine   // the experiment's
	platforms platform.Registry
}

// strongest returns the strongest of the values that are set.
func strongest[T any](l *layers, path string, base T, over, own []T) T {
	if len(own) > 0 {
		return own[0]
	}
	if len(over) > 0 {
		return pick(l.source, "overrides."+path, over, l.digits)
	}
	return base
}

// whole is strongest for values that an empty one clears.
func whole[T any](base T, over, own spec.Replace[T]) T {
	switch {
	case own.Set:
		return own.Value
	case over.Set:
		return over.Value
	}
	return base
}

// apply returns profile with every layer applied. It shares with profile what no layer changes.
func (l *layers) apply(profile *spec.DeploymentSpec) *spec.DeploymentSpec {
	d := *profile
	same := l.platforms.InPlans(platform.Variant{Platform: d.Platform, Mode: d.Mode})
	d.Platform, d.Mode = same.Platform, same.Mode
	where := l.platforms.Named(d.Platform)
	where.Defaults(&d.Block)
	o, m := l.over, &l.own
	d.Runtime.Image = strongest(l, "images.runtime", d.Runtime.Image, o.Images.Runtime, m.Images.Runtime)
	d.SchedulerImage = strongest(l, "images.scheduler", d.SchedulerImage, o.Images.Scheduler, m.Images.Scheduler)
	d.Runtime.Replicas = strongest(l, "scale.replicas", d.Runtime.Replicas, o.Scale.Replicas, m.Scale.Replicas)
	d.Runtime.TensorParallelism = strongest(l, "scale.tensor_parallelism", d.Runtime.TensorParallelism,
		o.Scale.TensorParallelism, m.Scale.TensorParallelism)
	where.Override(&d.Block, l.platform())
	l.pods(&d.Runtime)
	d.Runtime.VLLMArgs = l.arguments(d.Runtime.VLLMArgs)
	d.Runtime.Env = l.env(d.Runtime.Env)
	d.Runtime.Resources = l.resources(d.Runtime.Resources)
	d.Engine = spec.MergeEngine(profile.Engine, l.engine)
	if image := strongest(l, "images.runtime", "", o.Images.Runtime, m.Images.Runtime); image != "" && d.Engine != nil {
		engine := *d.Engine
		engine.Image = image
		d.Engine = &engine
	}
	return &d
}

// platform returns the overrides that only some platforms read.
func (l *layers) platform() platform.Overrides {
	auth := l.own.RHOAI.EnableAuth
	if auth == nil {
		auth = l.over.RHOAI.EnableAuth
	}
	return platform.Overrides{
		RepoRef: strongest(l, "llm_d.repo_ref", "", l.over.LLMD.RepoRef, l.own.LLMD.RepoRef), EnableAuth: auth,
	}
}

// pods applies the overrides of where and as whom the model pods run.
func (l *layers) pods(r *platform.Runtime) {
	o, m := &l.over.Runtime, &l.own.Runtime
	r.ServiceAccountName = orElse(m.ServiceAccountName, orElse(o.ServiceAccountName, r.ServiceAccountName))
	r.HostPaths = whole(r.HostPaths, o.HostPaths, m.HostPaths)
	r.NodeSelector = whole(r.NodeSelector, o.NodeSelector, m.NodeSelector)
	if r.Affinity = whole(r.Affinity, o.Affinity, m.Affinity); r.Affinity != nil && reflect.ValueOf(*r.Affinity).IsZero() {
		r.Affinity = nil
	}
	r.Tolerations = whole(r.Tolerations, o.Tolerations, m.Tolerations)
	if o.Placement.Set || m.Placement.Set {
		placement := whole(platform.Placement{}, o.Placement, m.Placement)
		if r.Placement = &placement; placement == (platform.Placement{}) {
			r.Placement = nil
		}
	}
}

// arguments returns the strongest list of vllm_args and, after it, the extra ones of every layer.
func (l *layers) arguments(base []string) []string {
	o, m := &l.over.Runtime, &l.own.Runtime
	args := whole(base, o.VLLMArgs, m.VLLMArgs)
	return slices.Concat(args, o.VLLMExtraArgs, m.VLLMExtraArgs)
}

// env merges the environments by key, the stronger wins; a blank one removes the variable.
func (l *layers) env(base map[string]string) map[string]string {
	o, m := l.over.Runtime.Env, l.own.Runtime.Env
	if len(o) == 0 && len(m) == 0 {
		return base
	}
	env := maps.Clone(base)
	if env == nil {
		env = map[string]string{}
	}
	tool.OverrideEnv(env, o)
	tool.OverrideEnv(env, m)
	return env
}

// resources applies one override block, the model's instead of the experiment's: removals first, then what it sets.
// Removals also hold against what the platform adds, so they stay listed.
func (l *layers) resources(base *platform.Resources) *platform.Resources {
	block := l.over.Runtime.Resources
	if l.own.Runtime.Resources != nil {
		block = l.own.Runtime.Resources
	}
	if block == nil {
		block = &platform.Resources{}
	}
	if base == nil {
		base = &platform.Resources{}
	}
	r := &platform.Resources{
		RemoveRequests: union(base.RemoveRequests, block.RemoveRequests),
		RemoveLimits:   union(base.RemoveLimits, block.RemoveLimits),
	}
	r.Requests = amounts(base.Requests, block.RemoveRequests, block.Requests)
	r.Limits = amounts(base.Limits, block.RemoveLimits, block.Limits)
	r.RemoveRequests = slices.DeleteFunc(r.RemoveRequests, func(key string) bool { return r.Requests[key] != "" })
	r.RemoveLimits = slices.DeleteFunc(r.RemoveLimits, func(key string) bool { return r.Limits[key] != "" })
	if len(r.Requests)+len(r.Limits)+len(r.RemoveRequests)+len(r.RemoveLimits) == 0 {
		return nil
	}
	return r
}

func amounts(base map[string]string, remove []string, set map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, base)
	for _, key := range remove {
		delete(out, key)
	}
	maps.Copy(out, set)
	return out
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
