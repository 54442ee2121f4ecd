package ends

import (
	"syscall"

	"bflow.dev/bflow/e2e/product"
	"bflow.dev/bflow/tasks/contract"
	"bflow.dev/bflow/tasks/verdict"
)

// end is one way of ending.
type end struct {
	name string
	set  []string // overrides of the experiment
	act  act      // while it goes on; nil = nothing
	code int
	word string // of the verdict; "" = none was come to
	says string // a part of what is printed, as a pattern

	quiet bool // on a machine that is busy it ends in another way
}

// act does something to a run that goes on and returns how bflow ended, which act may have started anew.
type act func(p *product.Product, cmd *product.Command) product.Result

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
	search = "load={data: {input: 8, output: 4}, search: {goodput: 0.5, low: 10, high: 80, tolerance: 0.9, level: {arrival: constant, duration: 2s, skip_first: 0s}}}"

	endless = "load.stages=[{concurrency: 2, duration: 10m}]"
)

// judged are ends that the load came to.
func judged() []end {
	return []end{
		{name: "a load without an objective", word: verdict.Pass, says: "verdict of .*: "},
		{name: "an objective that holds", set: []string{held}, word: verdict.Pass},
		{name: "an objective that is missed, to be reported", set: []string{missed}, word: verdict.Fail, says: `ttft p50 is .* objective ≤ 1 ms`},
		{name: "an objective that is missed", set: []string{missed, fail}, code: contract.ExitBreach, word: verdict.Fail, says: `objective ≤ 1 ms`},
		{name: "an objective whose stage ends the load", set: []string{missed, stop, "load.stages=[{name: one, rate: 20, duration: 2s}, {name: two, rate: 20, duration: 2s}]"},
			code: contract.ExitBreach, word: verdict.Fail, says: `stage 1 skipped: stage 0 breached an objective`},
		{name: "too few values for an objective, to be reported", set: []string{open}, word: verdict.Inconclusive, says: `cannot decide the objective`},
		{name: "too few values for an objective", set: []string{open, fail}, code: contract.ExitInconclusive, word: verdict.Inconclusive, says: `cannot decide the objective`},
		{name: "one objective missed, another not decided", set: []string{missed, open, fail}, code: contract.ExitBreach, word: verdict.Fail, says: `cannot decide the objective`},
		{name: "more than 1 % of errors", set: []string{blind, half}, code: contract.ExitFail, word: verdict.Fail, says: `of the requests failed, more than 1 %`},
		{name: "errors that an objective allows", set: []string{blind, half, "slo.error_rate=0.9"}, word: verdict.Pass},
		{name: "errors that an objective does not allow, to be reported", set: []string{blind, half, "slo.error_rate=0.1"}, word: verdict.Fail, says: `error rate is .* objective`},
		{name: "errors that an objective does not allow", set: []string{blind, half, "slo.error_rate=0.1", fail}, code: contract.ExitBreach, word: verdict.Fail, says: `error rate is`},
		{name: "nothing but errors", set: []string{blind, all}, code: contract.ExitFail, word: verdict.Fail, says: `no request succeeded`},
		{name: "nothing but errors, which an objective allows", set: []string{blind, all, "slo.error_rate=1"}, code: contract.ExitFail, word: verdict.Fail, says: `no request succeeded`},
		{name: "nothing but errors beside an objective that would be reported only", set: []string{blind, all, missed}, code: contract.ExitFail, word: verdict.Fail, says: `no request succeeded`},
		{name: "a goodput that is reached", set: []string{"slo.goodput={min: 0.9, e2e: 10s}"}, word: verdict.Pass},
		{name: "a goodput that is not reached, to be reported", set: []string{"slo.goodput={min: 0.9, e2e: 1ms}"}, word: verdict.Fail, says: `goodput`},
		{name: "a goodput that is not reached", set: []string{"slo.goodput={min: 0.9, e2e: 1ms}", fail}, code: contract.ExitBreach, word: verdict.Fail, says: `goodput`},
		{name: "a stage that must not be believed, to be marked", set: []string{blind, short}, word: verdict.Invalid, says: `not valid: .*token_mismatch`},
		{name: "a stage that must not be believed", set: []string{blind, short, strict}, code: contract.ExitInvalid, word: verdict.Invalid, says: `not valid: .*token_mismatch`},
		{name: "a stage that must not be believed three times", set: []string{blind, short, again}, code: contract.ExitInvalid, word: verdict.Invalid, says: `not valid: .*token_mismatch`},
		{name: "what must not be believed and misses its objective", set: []string{blind, short, strict, missed, fail}, code: contract.ExitInvalid, word: verdict.Invalid, says: `objective ≤ 1 ms`},
		{name: "what is only marked and misses its objective", set: []string{blind, short, missed, fail}, code: contract.ExitBreach, word: verdict.Invalid, says: `objective ≤ 1 ms`},
		{name: "what must not be believed and failed", set: []string{blind, strict, "engine.sim.faults=[{kind: short_output, share: 0.5}, {kind: http_500, share: 0.5}]"},
			code: contract.ExitFail, word: verdict.Fail, says: `not valid: .*token_mismatch`},
		{name: "a search whose levels all hold", set: []string{search, "slo.goodput={min: 0.9, e2e: 10s}"}, word: verdict.Pass, says: `search: `, quiet: true},
		{name: "a search whose lowest level does not hold, to be reported", set: []string{search, "slo.goodput={min: 0.9, e2e: 1ms}"}, word: verdict.Fail, says: `search: `, quiet: true},
		{name: "a search whose lowest level does not hold", set: []string{search, "slo.goodput={min: 0.9, e2e: 1ms}", fail}, code: contract.ExitBreach, word: verdict.Fail, says: `search: `, quiet: true},
		{name: "a search whose every level is invalid, to be marked", set: []string{search, blind, short, "slo.goodput={min: 0.9, e2e: 10s}"}, word: verdict.Invalid, says: `search: `, quiet: true},
		{name: "a search whose every level is invalid", set: []string{search, blind, short, strict, "slo.goodput={min: 0.9, e2e: 10s}"}, code: contract.ExitInvalid, word: verdict.Invalid, says: `search: `, quiet: true},
		{name: "a rule that ends the load for its errors", set: []string{blind, half, "load.stages=[{rate: 20, duration: 1m, stop: [{kind: max_errors, count: 3}]}]"}, code: contract.ExitFail, word: verdict.Fail, says: `of the requests failed`},
	}
}

// unfit are ends before the load, by a server that is not fit to be measured.
func unfit() []end {
	return []end{
		{name: "a server that is not there", set: []string{"deployment_profile=existing-endpoint", "target.base_url=http://127.0.0.1:1", "engine={kind: vllm}"},
			code: contract.ExitUnhealthy, says: `checking http://127.0.0.1:1: .*connection refused`},
		{name: "an engine that serves another model", set: []string{"engine.sim.faults=[{kind: wrong_model}]"}, code: contract.ExitUnhealthy, says: `it serves "acme/tiny-wrong"`},
		{name: "an engine that ends", set: []string{"engine={kind: command, command: [sh, -c, 'echo no such device; exit 7']}"}, code: contract.ExitUnhealthy, says: `it ended with exit status 7; its last line: no such device`},
		{name: "an engine that is not there", set: []string{"engine={kind: command, command: [no-such-server]}"}, code: contract.ExitUnhealthy, says: `no-such-server`},
		{name: "an engine whose answers are errors", set: []string{all}, code: contract.ExitUnhealthy, says: `smoketest: checking .* answered 500`},
		{name: "an engine whose answers are short", set: []string{short}, code: contract.ExitUnhealthy, says: `smoketest: checking `},
	}
}

// disturbed are ends that somebody or something brought about.
func disturbed() []end {
	return []end{
		{name: "somebody ends it while it loads", set: []string{endless}, act: signalled(syscall.SIGINT), code: contract.ExitInterrupted, says: `stopping: taking everything down`},
		{name: "the machine shuts down while it loads", set: []string{endless}, act: signalled(syscall.SIGTERM), code: contract.ExitInterrupted, says: `stopping: taking everything down`},
		{name: "somebody else cancels it", set: []string{endless}, act: cancelled, code: contract.ExitInterrupted},
		{name: "bflow is killed, and the run resumed", act: resumed, word: verdict.Pass, says: `verdict of `},
		{name: "the load generator is killed", set: []string{endless}, act: killed("load-gen"), code: contract.ExitFail, word: verdict.Fail},
		{name: "the engine is killed", set: []string{"load.stages=[{concurrency: 2, duration: 10m, stop: [{kind: max_errors, count: 5}]}]"}, act: killed("sim-engine"), code: contract.ExitUnhealthy, word: verdict.Fail},
		{name: "its time is over", set: []string{endless, "execution.timeout=8s"}, code: contract.ExitFail, says: `timeouts.tasks of 8s is over`},
	}
}

// refused are ends before anything was started, for what somebody wrote.
func refused() []end {
	return []end{
		{name: "a field that there is not", set: []string{"load.stages[0].rat=1"}, code: contract.ExitUsage, says: `unknown field "rat" \(did you mean "rate"\?\)`},
		{name: "a value that is none", set: []string{"load.stages[0].rate=fast"}, code: contract.ExitUsage, says: `want a number`},
		{name: "a profile that there is not", set: []string{"deployment_profile=nowhere"}, code: contract.ExitUsage, says: `no DeploymentProfile named "nowhere"`},
		{name: "a placeholder that was left", set: []string{"engine.base_url=http://${HOST}:8000"}, code: contract.ExitUsage, says: `\$\{HOST\}`},
	}
}
