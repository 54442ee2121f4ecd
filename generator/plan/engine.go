package plan

import (
	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/platform"
	"bflow.dev/bflow/runplan"
)

// Engines.
const (
	kindVLLM    = "vllm"
	kindTriton  = "triton"
	kindTGI     = "tgi"
	kindSim     = "sim"
	kindCommand = "command"
)

// engineOf returns the engine of a resolved profile with the defaults of its kind. It listens where its platform says,
// unless its kind has a port of its own.
func engineOf(d *spec.DeploymentSpec, where *platform.Platform) runplan.Engine {
	e := spec.Engine{}
	if d.Engine != nil {
		e = *d.Engine
	}
	out := runplan.Engine{Kind: orElse(e.Kind, kindVLLM), Image: e.Image, Command: e.Command, Args: e.Args}
	if out.Image == "" && servesFiles(out.Kind) {
		out.Image = d.Runtime.Image
	}
	out.Port, out.HealthPath, out.MetricsPath = 8000, "/health", "/metrics"
	switch {
	case out.Kind == kindTriton:
		out.HealthPath, out.MetricsPort = "/v2/health/ready", 8002
	case out.Kind == kindTGI:
		out.Port = 8080
	case where.Mode(d.Mode).Port != 0:
		out.Port = where.Mode(d.Mode).Port
	case out.Kind == kindCommand:
		out.Port = 0 // a free one
	}
	if e.Port != nil {
		out.Port = *e.Port
	}
	out.HealthPath, out.MetricsPath = orElse(e.HealthPath, out.HealthPath), orElse(e.MetricsPath, out.MetricsPath)
	if out.Kind == kindSim {
		out.Sim = simOf(e.Sim)
	}
	return out
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
