package loadgen

import (
	"context"
	"errors"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/loadgen/external"
	"bflow.dev/bflow/tasks/step"
)

// byTool reports whether the tool that described the load carries it out itself.
func (o *Options) byTool(plan *runplan.RunPlan) bool {
	return o.Measurement < len(plan.Measurements) && plan.Measurements[o.Measurement].Runner == runplan.RunnerExternal
}

// runTool carries the measurement out by that tool.
func runTool(ctx context.Context, o Options, plan *runplan.RunPlan, s step.Streams) error {
	dir := report.MeasurementDir(o.RunDir, o.Measurement)
	if err := keepOld(dir, plan, o); err != nil {
		return err
	}
	secrets := o.Secrets()
	plan, err := plan.WithLoad(o.Measurement, secrets.Find)
	if err != nil {
		return err
	}
	if len(runplan.References(o.Endpoint)) > 0 {
		return step.Usagef(
			"running %s: it takes the address of the server as an argument, and this one holds a credential; give it "+
				"api_key_secret instead",
			plan.Measurements[o.Measurement].Tool)
	}
	ctx, release := step.WithLifeline(ctx, s.Env)
	defer release()
	err = external.Run(ctx, external.Task{Plan: plan, Measurement: o.Measurement, RunDir: o.RunDir, RunID: o.RunID,
		Attempt:  o.Attempt,
		Endpoint: o.Endpoint, Env: s.Env, Secrets: secrets.Values(), Err: s.Err})
	if err == nil && external.Interrupted(dir) {
		return step.Exit(contract.ExitInterrupted, errors.New("interrupted; what was measured until then is written"))
	}
	return err
}
