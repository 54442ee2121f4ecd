package plan

import (
	"strconv"
	"time"

	"bflow.dev/bflow/internal/saturate"
	"bflow.dev/bflow/platform/engine"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
)

// Budgets of what a plan cannot say.
const (
	startBudget     = 2 * time.Minute // a pod is scheduled and its image pulled
	readyEndpoint   = 5 * time.Minute // a server that is there already
	downloadBudget  = time.Hour
	smoketestBudget = 10 * time.Minute // the first completions of a cold server
	releaseBudget   = 11 * time.Minute // diagnostics 1 min, teardown 10 min
	collectBudget   = 5 * time.Minute
	pushBudget      = 10 * time.Minute
	teardownAgain   = 10 * time.Minute
	lastWords       = 7 * time.Minute // to MLflow, and the start of the pod
)

// timeoutsOf computes every limit of a plan. limit is execution.timeout.
//
//	stage        its duration; requests/rate in an open loop; the window of a trace; else it counts as unbounded
//	search       its levels, each up to three times as long as it is expected to take
//	measurement  samples x (stages + search + pauses + drain of each stage) + pauses between samples; unbounded = limit
//	load-gen     measurement + start
//	provision    start + download (where files are fetched) + ready
//	tasks        the sum of all tasks that the plan needs, at most limit; every task is at most that
//	finally      last words, and the teardown again where there is one
//	pipeline     tasks + finally, so that a run at its limit is still torn down
func timeoutsOf(p *runplan.RunPlan, limit time.Duration) runplan.Timeouts {
	var t runplan.Timeouts
	t.Ready = runplan.Duration(readyBudget(&p.Deployment))
	task := taskBudgets(p, t.Ready.D())
	for i := range p.Measurements {
		expected, longest := measurementTime(&p.Measurements[i], limit)
		if p.Execution.OnInvalid == runplan.InvalidRetry {
			longest = min(saturate.Times(longest, runplan.MaxTries), limit)
		}
		t.Measurement = append(t.Measurement, runplan.Duration(expected))
		if p.Execution.Phases.Benchmark {
			task[contract.LoadGen+"-"+strconv.Itoa(i)] = startBudget + longest
		}
	}
	var sum time.Duration
	for _, d := range task {
		sum = saturate.Plus(sum, d)
	}
	tasks, finally := min(sum, limit), lastWords
	if tornDown(p) {
		finally += teardownAgain
	}
	t.Task = make(map[string]runplan.Duration, len(task))
	for name, d := range task {
		t.Task[name] = runplan.Duration(min(d, tasks))
	}
	t.Tasks, t.Finally = runplan.Duration(tasks), runplan.Duration(finally)
	t.Pipeline = runplan.Duration(saturate.Plus(tasks, finally))
	return t
}

// taskBudgets are the limits of the tasks that put no load on the server.
func taskBudgets(p *runplan.RunPlan, ready time.Duration) map[string]time.Duration {
	task := map[string]time.Duration{
		contract.Provision:  startBudget + ready,
		contract.Smoketest:  startBudget + smoketestBudget,
		contract.Collect:    collectTime(p.Metrics),
		contract.MLflowPush: startBudget + pushBudget,
	}
	if p.Execution.Phases.Download {
		task[contract.Provision] += downloadBudget
	}
	if tornDown(p) {
		task[contract.Release] = releaseBudget
	}
	return task
}

// tornDown reports whether the run removes what it deployed.
func tornDown(p *runplan.RunPlan) bool {
	return p.Deployment.Endpoint == nil && p.Execution.Phases.Deploy && p.Execution.Phases.Cleanup
}

func readyBudget(d *runplan.Deployment) time.Duration {
	if d.Endpoint != nil {
		return readyEndpoint
	}
	return engine.Of(d.Engine.Kind).StartBudget(&d.Engine)
}

// collectTime lets every query run into its own limit, one after the other.
func collectTime(m *runplan.Metrics) time.Duration {
	d := startBudget + collectBudget
	if m != nil {
		d += time.Duration(len(m.Queries)) * m.QueryTimeout.D()
	}
	return d
}
