package loadgen

import (
	"context"
	"errors"
	"fmt"

	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/loadgen/external"
	"bflow.dev/bflow/tasks/step"
)

var _ step.Func = Run

// Run carries out one measurement. It returns an error for bad usage, for results that cannot be written and for an
// interruption; whatever the server does is written down and no error.
func Run(ctx context.Context, s step.Streams, args []string) error {
	if len(args) > 0 && args[0] == external.HoldWord {
		return external.Hold(ctx, s, args[1:])
	}
	var o Options
	plan, err := o.begin(args, s.Err)
	if err != nil {
		return err
	}
	if o.byTool(plan) {
		return runTool(ctx, o, plan, s)
	}
	m, err := newMeasurement(o, plan, s)
	if err != nil {
		return step.Exit(contract.ExitUsage, err)
	}
	ctx, release := step.WithLifeline(ctx, m.Env)
	defer release()
	restore := tune()
	defer restore()
	if err := m.run(ctx); err != nil {
		return fmt.Errorf("running measurement %d: %w", o.Measurement, err)
	}
	if m.summary.Interrupted {
		return step.Exit(contract.ExitInterrupted, errors.New("interrupted; what was measured until then is written"))
	}
	return m.endInvalid()
}
