package spec

import (
	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/platform"
)

// DeploymentSpec is the body of a DeploymentProfile.
type DeploymentSpec struct {
	platform.Block
	Engine *Engine `json:"engine,omitempty" doc:"server under test, if it is not the platform's vLLM"`
}

// CheckDeployment finds rules of the platform and of the engine that s breaks. It serves a profile, and a resolved
// point whose overrides are already in s. Paths are relative to spec.
func CheckDeployment(s *DeploymentSpec, platforms platform.Registry) problem.Findings {
	out := platforms.Check(&s.Block)
	out.Under("engine", s.Engine.check())
	out.Under("engine.sim", s.Engine.checkRates())
	return out
}

// CheckImage finds a missing image, after every override: s is a resolved point that is deployed.
func CheckImage(s *DeploymentSpec, platforms platform.Registry) problem.Findings {
	var out problem.Findings
	given := s.Runtime.Image != ""
	if e := s.Engine; e != nil {
		given = given || e.Image != "" || e.Kind != "" && e.Kind != "vllm"
	}
	if !given && platforms.Named(s.Platform).NeedsImage(&s.Block) {
		out.Add("runtime.image", "%s/%s needs an image; set runtime.image, overrides.images.runtime, or target.base_url "+
			"where a server runs already", s.Platform, s.Mode)
	}
	return out
}
