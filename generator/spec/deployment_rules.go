package spec

import (
	"slices"
	"strconv"

	"bflow.dev/bflow/internal/problem"
)

// Modes returns the modes of a platform, nil for an unknown one.
func Modes(platform string) []string {
	switch platform {
	case "rhaiis":
		return []string{"raw-vllm"}
	case "kubernetes":
		return []string{"plain"}
	case "rhoai":
		return []string{"isvc", "distributed-default", "approximate-prefix-cache", "precise-prefix-cache"}
	case "llm-d":
		return []string{"inference-scheduling", "optimized-baseline", "precise-prefix-cache", "precise-prefix-cache-routing"}
	}
	return nil
}

// llmService reports whether s is a rhoai LLMInferenceService.
func (s *DeploymentSpec) llmService() bool { return s.Platform == "rhoai" && s.Mode != "isvc" }

// CheckDeployment finds rules of the platform that s breaks. It serves a profile, and a resolved point whose overrides
// are already in s. Paths are relative to spec.
func CheckDeployment(s *DeploymentSpec) problem.Findings {
	var out problem.Findings
	if modes := Modes(s.Platform); modes != nil && s.Mode != "" && !slices.Contains(modes, s.Mode) {
		out.Add("mode", "platform %s has modes %q, found %q%s", s.Platform, modes, s.Mode, problem.Nearest(s.Mode, modes))
	}
	r := &s.Runtime
	out.Under("runtime", CheckMounts(r.HostPaths, r.PVCMounts))
	out.Under("runtime", checkClaims(r.PVCMounts))
	out.Under("runtime.placement", r.Placement.check())
	out.Under("runtime.resources", r.Resources.check())
	if r.Placement != nil && r.Placement.Mode != "" && s.Platform != "" && !s.llmService() {
		out.Add("runtime.placement", "placement needs platform rhoai and a mode other than isvc, found %s/%s", s.Platform, s.Mode)
	}
	if _, set := r.Env["PYTHONHASHSEED"]; set && s.llmService() && s.Mode == "precise-prefix-cache" {
		out.Add("runtime.env.PYTHONHASHSEED", "the platform sets this variable to 42 to match the endpoint picker; remove it")
	}
	out.Under("runtime", s.checkNodeFolders())
	out.Under("options", s.checkOptions())
	out.Under("engine", s.Engine.check())
	out.Under("engine.sim", s.Engine.checkRates())
	return out
}

// checkNodeFolders finds host paths that llm-d cannot give its pods.
func (s *DeploymentSpec) checkNodeFolders() (out problem.Findings) {
	const account = "benchflow-hostpath-runtime"
	if s.Platform != "llm-d" || len(s.Runtime.HostPaths) == 0 {
		return nil
	}
	for i, h := range s.Runtime.HostPaths {
		if h.Type != "DirectoryOrCreate" || h.ReadOnly {
			out.Add("host_paths["+strconv.Itoa(i)+"]", "platform llm-d accepts only writable host paths of type DirectoryOrCreate")
		}
	}
	if a := s.Runtime.ServiceAccountName; a != "" && a != account {
		out.Add("service_account_name", "platform llm-d runs pods with host paths as %q, found %q; leave it unset", account, a)
	}
	return out
}

// CheckImage finds a missing image, after every override: s is a resolved point that is deployed.
func CheckImage(s *DeploymentSpec) problem.Findings {
	var out problem.Findings
	plain := s.Platform == "rhaiis" || s.Platform == "rhoai" && s.Mode == "isvc" || s.Options.MooncakeStore != nil
	if plain && s.Runtime.Image == "" && (s.Engine == nil || s.Engine.Image == "" && (s.Engine.Kind == "" || s.Engine.Kind == "vllm")) {
		out.Add("runtime.image", "%s/%s needs an image; set runtime.image, overrides.images.runtime, or target.base_url where a server runs already", s.Platform, s.Mode)
	}
	return out
}
