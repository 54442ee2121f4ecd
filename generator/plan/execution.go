package plan

import (
	"cmp"
	"strings"
	"time"

	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/platform/engine"
	"bflow.dev/bflow/runplan"
)

// phasesOf says which parts of a run happen. An existing endpoint is neither made nor removed, and only a release name
// says what to ask Prometheus for. Engines without model files have nothing to download.
func phasesOf(s spec.Phases, d *runplan.Deployment) runplan.Phases {
	phases := runplan.Phases{Download: s.Download, Deploy: s.Deploy, Benchmark: s.Benchmark, Collect: s.Collect,
		Cleanup: s.Cleanup}
	if !engine.Of(d.Engine.Kind).ServesFiles {
		phases.Download = false
	}
	if d.Endpoint != nil {
		phases.Download, phases.Deploy, phases.Cleanup = false, false, false
		phases.Collect = d.Endpoint.MetricsRelease != ""
	}
	return phases
}

// usualKeepTime is how long a server stays that is not removed.
const usualKeepTime = 4 * time.Hour

// keepServer fills in how long the server stays after the run, where it does.
func (p *point) keepServer(plan *runplan.RunPlan) {
	wish := p.spec("execution").Execution.KeepFor
	if phases := plan.Execution.Phases; phases.Deploy && !phases.Cleanup {
		plan.Execution.KeepFor = runplan.Duration(cmp.Or(wish, usualKeepTime))
	} else if wish > 0 {
		p.problems.Add(p.exp.Warning("spec.execution.keep_for",
			"it has no effect: the run removes the model server, unless stages.cleanup is false"))
	}
}

func executionOf(e spec.Execution, ttl *int64) runplan.Execution {
	out := runplan.Execution{VerifyCompletions: e.VerifyCompletions, OnInvalid: e.OnInvalid, TTLSeconds: ttl}
	if e.Profiling != nil && e.Profiling.Enabled {
		out.Profiling = &runplan.Profiling{CallRanges: orElse(strings.Join(strings.Fields(e.Profiling.CallRanges), ""),
			"100-150"), IdleSeconds: e.Profiling.IdleSeconds}
	}
	return out
}

// sloOf writes objectives as the plan has them.
func sloOf(s *spec.SLO) *runplan.SLO {
	out := &runplan.SLO{ErrorRate: s.ErrorRate, MinThroughput: s.MinThroughput, OnBreach: s.OnBreach}
	for name, l := range map[string]*spec.Latency{"ttft": s.TTFT, "itl": s.ITL, "tpot": s.TPOT, "e2e": s.E2E} {
		if limits := limitsOf(l); len(limits) > 0 {
			if out.Latency == nil {
				out.Latency = map[string]map[string]runplan.Duration{}
			}
			out.Latency[name] = limits
		}
	}
	if g := s.Goodput; g != nil {
		out.Goodput = &runplan.Goodput{Min: g.Min, TTFT: runplan.Duration(g.TTFT), TPOT: runplan.Duration(g.TPOT),
			E2E: runplan.Duration(g.E2E)}
	}
	return out
}

func limitsOf(l *spec.Latency) map[string]runplan.Duration {
	if l == nil {
		return nil
	}
	limits := map[string]runplan.Duration{}
	for statistic, d := range map[string]time.Duration{"mean": l.Mean, "p50": l.P50, "p90": l.P90, "p95": l.P95,
		"p99": l.P99} {
		if d > 0 {
			limits[statistic] = runplan.Duration(d)
		}
	}
	return limits
}
