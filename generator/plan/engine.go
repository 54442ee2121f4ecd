package plan

import (
	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/platform"
	"bflow.dev/bflow/platform/engine"
	"bflow.dev/bflow/runplan"
)

// engineOf returns the engine of a resolved profile with the defaults of its kind. It listens where its platform says,
// unless its kind has a port of its own.
func engineOf(d *spec.DeploymentSpec, where *platform.Platform) runplan.Engine {
	e := spec.Engine{}
	if d.Engine != nil {
		e = *d.Engine
	}
	kind := engine.Of(orElse(e.Kind, engine.Default))
	out := runplan.Engine{Kind: kind.Kind, Image: e.Image, Command: e.Command, Args: e.Args, Port: kind.Port,
		MetricsPort: kind.MetricsPort}
	if out.Image == "" && kind.ServesFiles {
		out.Image = d.Runtime.Image
	}
	if port := where.Mode(d.Mode).Port; port != 0 && !kind.FixedPort {
		out.Port = port
	}
	if e.Port != nil {
		out.Port = *e.Port
	}
	out.HealthPath, out.MetricsPath = orElse(e.HealthPath, kind.HealthPath), orElse(e.MetricsPath, kind.MetricsPath)
	if kind.OwnImage != "" {
		out.Sim = simOf(e.Sim)
	}
	return out
}

// routed is the path of requests where bflow starts the engine by a command line of its own.
func routed(d *runplan.Deployment, path string) string {
	route := engine.Of(d.Engine.Kind).Route
	if route == nil || d.Endpoint != nil || len(d.Engine.Command) > 0 {
		return path
	}
	return route(d.Model.Name, path)
}

func simOf(s *spec.Sim) *runplan.Sim {
	if s == nil {
		return &runplan.Sim{}
	}
	sim := &runplan.Sim{
		TTFT: duration(s.TTFT), TTFTStdev: duration(s.TTFTStdev), ITL: duration(s.ITL), ITLStdev: duration(s.ITLStdev),
		MaxNumSeqs: deref(s.MaxNumSeqs), MaxModelLen: deref(s.MaxModelLen), Seed: deref(s.Seed),
		FailureRate:       deref(s.FailureRate),
		PrefillTokensPerS: deref(s.PrefillTokensPerS), DecodeTokensPerS: deref(s.DecodeTokensPerS),
		KVTokens: deref(s.KVTokens), PrefixCache: deref(s.PrefixCache),
		Startup: duration(s.Startup), NotReady: duration(s.NotReady),
	}
	for _, f := range s.Faults {
		sim.Faults = append(sim.Faults, runplan.Fault{
			Kind: f.Kind, Share: deref(f.Share), After: runplan.Duration(f.After), Duration: runplan.Duration(f.Duration),
		})
	}
	return sim
}
