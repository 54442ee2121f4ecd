package ends

import (
	"strings"

	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/verdict"
)

// End is one way of ending.
type End struct {
	Name string
	Set  []string // overrides of the experiment
	Code int
	Word string // of the verdict; "" = none was come to
	Says string // a part of what is printed, as a pattern

	Quiet bool // on a machine that is busy it ends in another way
	Here  bool // it is one of this machine alone
}

// Overrides that rows share. The engine answers after 10 ms.
const (
	held   = "slo.ttft.p50=10s"
	missed = "slo.ttft.p50=1ms"
	open   = "slo.ttft.p99=10s" // forty requests cannot tell
	fail   = "slo.on_breach=fail"
	stop   = "slo.on_breach=stop"
	strict = "execution.on_invalid=fail"
	again  = "execution.on_invalid=retry"
	blind  = "execution.verify_completions=false" // smoketest lets faults pass
	short  = "engine.sim.faults=[{kind: short_output}]"
	half   = "engine.sim.faults=[{kind: http_500, share: 0.5}]"
	all    = "engine.sim.faults=[{kind: http_500}]"
	search = "load={data: {input: 8, output: 4}, search: {goodput: 0.5, low: 10, high: 80, tolerance: 0.9, level: " +
		"{arrival: constant, duration: 2s, skip_first: 0s}}}"

	endless = "load.stages=[{concurrency: 2, duration: 10m}]"
)

// Experiment is what the rows change: its engine answers after 10 ms.
const Experiment = `
apiVersion: bflow.dev/v1alpha1
kind: DeploymentProfile
metadata: {name: here}
spec: {platform: kubernetes, mode: plain, engine: {kind: sim}}
---
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: ends}
spec:
  model: {name: acme/tiny}
  deployment_profile: here
  engine: {kind: sim, sim: {ttft: 10ms, itl: 1ms}}
  execution: {on_invalid: mark}
  load: {data: {input: 8, output: 4}, stages: [{rate: 20, duration: 2s}]}
`

// Judged are ends that the load came to.
func Judged() []End {
	return []End{
		{Name: "a load without an objective", Word: verdict.Pass, Says: "verdict of .*: "},
		{Name: "an objective that holds", Set: []string{held}, Word: verdict.Pass},
		{Name: "an objective that is missed, to be reported", Set: []string{missed}, Word: verdict.Fail,
			Says: `ttft p50 is .* objective ≤ 1 ms`},
		{Name: "an objective that is missed", Set: []string{missed, fail}, Code: contract.ExitBreach,
			Word: verdict.Fail, Says: `objective ≤ 1 ms`},
		{Name: "an objective whose stage ends the load", Set: []string{missed, stop,
			"load.stages=[{name: one, rate: 20, duration: 2s}, {name: two, rate: 20, duration: 2s}]"},
			Code: contract.ExitBreach, Word: verdict.Fail, Says: `stage 1 skipped: stage 0 breached an objective`},
		{Name: "too few values for an objective, to be reported", Set: []string{open}, Word: verdict.Inconclusive,
			Says: `cannot decide the objective`},
		{Name: "too few values for an objective", Set: []string{open, fail}, Code: contract.ExitInconclusive,
			Word: verdict.Inconclusive, Says: `cannot decide the objective`},
		{Name: "one objective missed, another not decided", Set: []string{missed, open, fail},
			Code: contract.ExitBreach, Word: verdict.Fail, Says: `cannot decide the objective`},
		{Name: "more than 1 % of errors", Set: []string{blind, half}, Code: contract.ExitFail, Word: verdict.Fail,
			Says: `of the requests failed, more than 1 %`},
		{Name: "errors that an objective allows", Set: []string{blind, half, "slo.error_rate=0.9"}, Word: verdict.Pass},
		{Name: "errors that an objective does not allow, to be reported",
			Set: []string{blind, half, "slo.error_rate=0.1"}, Word: verdict.Fail, Says: `error rate is .* objective`},
		{Name: "errors that an objective does not allow", Set: []string{blind, half, "slo.error_rate=0.1", fail},
			Code: contract.ExitBreach, Word: verdict.Fail, Says: `error rate is`},
		{Name: "nothing but errors", Set: []string{blind, all}, Code: contract.ExitFail, Word: verdict.Fail,
			Says: `no request succeeded`},
		{Name: "nothing but errors, which an objective allows", Set: []string{blind, all, "slo.error_rate=1"},
			Code: contract.ExitFail, Word: verdict.Fail, Says: `no request succeeded`},
		{Name: "nothing but errors beside an objective that would be reported only", Set: []string{blind, all, missed},
			Code: contract.ExitFail, Word: verdict.Fail, Says: `no request succeeded`},
		{Name: "a goodput that is reached", Set: []string{"slo.goodput={min: 0.9, e2e: 10s}"}, Word: verdict.Pass},
		{Name: "a goodput that is not reached, to be reported", Set: []string{"slo.goodput={min: 0.9, e2e: 1ms}"},
			Word: verdict.Fail, Says: `goodput`},
		{Name: "a goodput that is not reached", Set: []string{"slo.goodput={min: 0.9, e2e: 1ms}", fail},
			Code: contract.ExitBreach, Word: verdict.Fail, Says: `goodput`},
		{Name: "a stage that must not be believed, to be marked", Set: []string{blind, short}, Word: verdict.Invalid,
			Says: `not valid: .*token_mismatch`},
		{Name: "a stage that must not be believed", Set: []string{blind, short, strict}, Code: contract.ExitInvalid,
			Word: verdict.Invalid, Says: `not valid: .*token_mismatch`},
		{Name: "a stage that must not be believed three times", Set: []string{blind, short, again},
			Code: contract.ExitInvalid, Word: verdict.Invalid, Says: `not valid: .*token_mismatch`},
		{Name: "what must not be believed and misses its objective", Set: []string{blind, short, strict, missed, fail},
			Code: contract.ExitInvalid, Word: verdict.Invalid, Says: `objective ≤ 1 ms`},
		{Name: "what is only marked and misses its objective", Set: []string{blind, short, missed, fail},
			Code: contract.ExitBreach, Word: verdict.Invalid, Says: `objective ≤ 1 ms`},
		{Name: "what must not be believed and failed", Set: []string{blind, strict,
			"engine.sim.faults=[{kind: short_output, share: 0.5}, {kind: http_500, share: 0.5}]"},
			Code: contract.ExitFail, Word: verdict.Fail, Says: `not valid: .*token_mismatch`},
		{Name: "a search whose levels all hold", Set: []string{search, "slo.goodput={min: 0.9, e2e: 10s}"},
			Word: verdict.Pass, Says: `search: `, Quiet: true},
		{Name: "a search whose lowest level does not hold, to be reported", Set: []string{search,
			"slo.goodput={min: 0.9, e2e: 1ms}"}, Word: verdict.Fail, Says: `search: `, Quiet: true},
		{Name: "a search whose lowest level does not hold", Set: []string{search, "slo.goodput={min: 0.9, e2e: 1ms}",
			fail}, Code: contract.ExitBreach, Word: verdict.Fail, Says: `search: `, Quiet: true},
		{Name: "a search whose every level is invalid, to be marked", Set: []string{search, blind, short,
			"slo.goodput={min: 0.9, e2e: 10s}"}, Word: verdict.Invalid, Says: `search: `, Quiet: true},
		{Name: "a search whose every level is invalid",
			Set: []string{search, blind, short, strict, "slo.goodput={min: 0.9, e2e: 10s}"}, Code: contract.ExitInvalid,
			Word: verdict.Invalid, Says: `search: `, Quiet: true},
		{Name: "a rule that ends the load for its errors",
			Set:  []string{blind, half, "load.stages=[{rate: 20, duration: 1m, stop: [{kind: max_errors, count: 3}]}]"},
			Code: contract.ExitFail, Word: verdict.Fail, Says: `of the requests failed`},
	}
}

// Unfit are ends before the load, by a server that is not fit to be measured.
func Unfit() []End {
	return []End{
		{Name: "a server that is not there", Set: []string{"deployment_profile=existing-endpoint",
			"target.base_url=http://127.0.0.1:1", "engine={kind: vllm}"},
			Code: contract.ExitUnhealthy, Says: `checking http://127.0.0.1:1: .*connection refused`},
		{Name: "an engine that serves another model", Set: []string{"engine.sim.faults=[{kind: wrong_model}]"},
			Code: contract.ExitUnhealthy, Says: `it serves "acme/tiny-wrong"`},
		{Name: "an engine that ends",
			Set: []string{"engine={kind: command, command: [sh, -c, 'echo no such device; exit 7']}"}, Here: true,
			Code: contract.ExitUnhealthy, Says: `it ended with exit status 7; its last line: no such device`},
		{Name: "an engine that is not there", Set: []string{"engine={kind: command, command: [no-such-server]}"},
			Here: true, Code: contract.ExitUnhealthy, Says: `no-such-server`},
		{Name: "an engine whose answers are errors", Set: []string{all}, Code: contract.ExitUnhealthy,
			Says: `smoketest: checking .* answered 500`},
		{Name: "an engine whose answers are short", Set: []string{short}, Code: contract.ExitUnhealthy,
			Says: `smoketest: checking `},
	}
}

// InvalidInput are ends before anything was started, for what somebody wrote.
func InvalidInput() []End {
	return []End{
		{Name: "a field that there is not", Set: []string{"load.stages[0].rat=1"}, Code: contract.ExitUsage,
			Says: `unknown field "rat" \(did you mean "rate"\?\)`},
		{Name: "a value that is none", Set: []string{"load.stages[0].rate=fast"}, Code: contract.ExitUsage,
			Says: `want a number`},
		{Name: "a profile that there is not", Set: []string{"deployment_profile=nowhere"}, Code: contract.ExitUsage,
			Says: `no DeploymentProfile named "nowhere"`},
		{Name: "a placeholder that was left", Set: []string{"engine.base_url=http://${HOST}:8000"},
			Code: contract.ExitUsage, Says: `\$\{HOST\}`},
	}
}

// Matrix is a way in which one of two points ends.
type Matrix struct {
	Name, Axis string
	Values     []string // of the axis: a point each
	Set        []string
	Code, Runs int
	Says       string
}

// Axes are the lines that make a matrix of the experiment.
func (m Matrix) Axes() string {
	return "  matrix: {axes: {" + m.Axis + ": [" + strings.Join(m.Values, ", ") + "]}}\n"
}

// Matrices end as their points do.
func Matrices() []Matrix {
	const (
		well    = "10ms"
		slow    = "300ms" // misses the objective
		kinds   = "engine.sim.faults"
		nothing = "[]"
	)
	fault := func(kind string) string { return "[{kind: " + kind + "}]" }
	return []Matrix{
		{"all are well", "engine.sim.ttft", []string{well, "12ms"}, []string{held}, contract.ExitPass, 2,
			"verdict of ends-m2-"},
		{"one misses its objective, to be reported", "engine.sim.ttft", []string{well, slow},
			[]string{"slo.ttft.p50=100ms"}, contract.ExitPass, 2, "objective ≤ 100 ms"},
		{"one misses its objective", "engine.sim.ttft", []string{well, slow}, []string{"slo.ttft.p50=100ms", fail},
			contract.ExitBreach, 2, "objective ≤ 100 ms"},
		{"one must not be believed", kinds, []string{nothing, fault("short_output")}, []string{blind, strict},
			contract.ExitInvalid, 2, "token_mismatch"},
		{"one is marked", kinds, []string{nothing, fault("short_output")}, []string{blind}, contract.ExitPass,
			2, "token_mismatch"},
		{"one fails and one must not be believed", kinds, []string{fault("http_500"), fault("short_output")},
			[]string{blind, strict}, contract.ExitFail, 2, "no request succeeded"},
		{"one is unfit and one fails", kinds, []string{fault("wrong_model"), fault("http_500")}, []string{blind},
			contract.ExitUnhealthy, 2, "it serves"},
		{"the first fails, and the rest is not begun", kinds, []string{fault("http_500"), nothing}, []string{blind,
			"matrix.fail_fast=true", "matrix.max_parallel=1"}, contract.ExitFail, 1, "no request succeeded"},
	}
}
