package spec

import (
	"slices"
	"strconv"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/runplan"
)

// check finds settings of another kind of engine, and faults that the simulated one has not.
func (e *Engine) check() (out problem.Findings) {
	if e == nil || e.Sim == nil {
		return nil
	}
	if e.Kind != "" && e.Kind != "sim" {
		out.Add("sim", "sim needs kind sim, found kind %q", e.Kind)
	}
	for i, f := range e.Sim.Faults {
		out.Under("sim.faults["+strconv.Itoa(i)+"]", f.check())
	}
	return out
}

// check asks the type that the engine reads.
func (f *Fault) check() (out problem.Findings) {
	plan := runplan.Fault{Kind: f.Kind, After: runplan.Duration(f.After), Duration: runplan.Duration(f.Duration)}
	kind, _ := plan.Split()
	err := plan.Validate()
	near := problem.Closest(kind, runplan.FaultKinds(), 1)
	switch {
	case err == nil || f.Kind == "":
	case !slices.Contains(runplan.FaultKinds(), kind) && len(near) > 0:
		out.Add("kind", "unknown kind of fault %q (did you mean %q?)", kind, near[0])
	default:
		out.Add("", "%v", err)
	}
	return out
}

// checkRates finds half a batch model: with both rates the engine batches, with none its timing is exact.
func (e *Engine) checkRates() (out problem.Findings) {
	if e == nil || e.Sim == nil {
		return nil
	}
	const needs = "required field is missing: %s needs it"
	prefill, decode := e.Sim.PrefillTokensPerS, e.Sim.DecodeTokensPerS
	switch {
	case prefill != nil && decode == nil:
		out.Add("decode_tokens_per_s", needs, "prefill_tokens_per_s")
	case decode != nil && prefill == nil:
		out.Add("prefill_tokens_per_s", needs, "decode_tokens_per_s")
	}
	return out
}
