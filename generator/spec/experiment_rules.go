package spec

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/problem"
)

// check finds rules that concern more than one field of an experiment, whatever its profiles say.
func (e *Experiment) check() problem.List {
	s := &e.Spec
	var out problem.Findings
	if len(s.BenchmarkProfile) == 0 && s.Load == nil {
		out.Add("benchmark_profile", "required field is missing; name a BenchmarkProfile or write a load block")
	}
	out.Under("target", s.Target.check())
	out.Under("execution.profiling", s.Execution.Profiling.check())
	out.Under("overrides", s.Overrides.check())
	for _, model := range slices.Sorted(maps.Keys(s.ModelOverrides)) {
		o := s.ModelOverrides[model]
		out.Under("model_overrides"+bracketed(model), o.check())
	}
	out.Under("load", s.Load.Check())
	out.Under("engine", s.Engine.check())
	out.Under("slo", s.SLO.check())
	out = append(out, s.checkClusters()...)
	return e.problems("spec", out)
}

func (t *Target) check() (out problem.Findings) {
	if t.BaseURL != "" {
		return nil
	}
	if t.Path != "" {
		out.Add("path", "path needs base_url, the URL of an existing endpoint")
	}
	if t.MetricsRelease != "" {
		out.Add("metrics_release_name", "metrics_release_name needs base_url, the URL of an existing endpoint")
	}
	return out
}

// check reads call_ranges even when profiling is off.
func (p *Profiling) check() (out problem.Findings) {
	if p == nil {
		return nil
	}
	if p.IdleSeconds > 0 {
		if n, err := strconv.Atoi(strings.TrimSpace(p.CallRanges)); err != nil || n < 1 {
			out.Add("call_ranges", "with idle_seconds want one count above 0, found %q", p.CallRanges)
		}
		return out
	}
	if p.CallRanges == "" {
		return nil
	}
	shape := regexp.MustCompile(`^\s*(\d{1,9})\s*-\s*(\d{1,9})\s*$`)
	for _, part := range strings.Split(p.CallRanges, ",") {
		m := shape.FindStringSubmatch(part)
		if m == nil {
			out.Add("call_ranges", "want a comma-separated list of ranges such as 100-150, found %q", p.CallRanges)
			return out
		}
		from, _ := strconv.Atoi(m[1])
		to, _ := strconv.Atoi(m[2])
		if to < from {
			out.Add("call_ranges", "range %q ends before it starts", strings.TrimSpace(part))
		}
	}
	return out
}

func (s *SLO) check() (out problem.Findings) {
	if s == nil {
		return nil
	}
	if g := s.Goodput; g != nil && g.TTFT == 0 && g.TPOT == 0 && g.E2E == 0 {
		out.Add("goodput", "want at least one objective: ttft, tpot or e2e")
	}
	return out
}

func (s *ExperimentSpec) checkClusters() (out problem.Findings) {
	c := s.TargetCluster
	several := len(c.AnyOf) > 0 || len(c.Selector) > 0
	if len(s.TargetClusters) > 0 && (several || c.KubeconfigSecret != "" || c.Kubeconfig != "" || len(c.HostAliases) > 0) {
		out.Add("target_clusters", "target_clusters excludes target_cluster; keep one")
	}
	if several && (c.KubeconfigSecret != "" || c.Kubeconfig != "") {
		out.Add("target_cluster",
			"any_of and selector choose among targets of the hub, which has their credentials; remove kubeconfig_secret "+
				"and kubeconfig")
	}
	for i, name := range c.AnyOf {
		at := "target_cluster.any_of[" + strconv.Itoa(i) + "]"
		switch {
		case name == "local":
			out.Add(at,
				"the hub itself cannot be one choice among others, because its runs generate their load differently; list it "+
					"in target_clusters")
		case slices.Contains(c.AnyOf[:i], name):
			out.Add(at, "duplicate target %q", name)
		}
	}
	first := map[string]int{}
	for i, t := range s.TargetClusters {
		if at, ok := first[t.Name]; ok {
			out.Add("target_clusters["+strconv.Itoa(i)+"]", "duplicate cluster %q, first in target_clusters[%d]", t.Name, at)
			continue
		}
		first[t.Name] = i
	}
	return out
}

// checkModelKeys notes overrides that no point uses: legal, because one file serves many matrices.
func (e *Experiment) checkModelKeys() (out problem.List) {
	models := slices.Clone([]string(e.Spec.Model.Name))
	add := func(path string, v *yaml.Node) {
		if path == "model" {
			v = child(v, Seg{Key: "name"})
		}
		if v != nil && (path == "model" || path == "model.name") {
			models = append(models, v.Value)
		}
	}
	for _, axis := range e.Spec.Matrix.Axes {
		for _, v := range axis.Values {
			add(axis.Path, v)
		}
	}
	for _, point := range e.Spec.Matrix.Include {
		for _, c := range point {
			add(c.Path, c.Value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.Spec.ModelOverrides)) {
		if !slices.Contains(models, name) {
			out.Add(e.Warning("spec.model_overrides"+bracketed(name), "no point has model %q, so these overrides have no effect",
				name))
		}
	}
	return out
}
