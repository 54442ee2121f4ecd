package local

import (
	"context"
	"time"

	executor "bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runs"
)

// staying returns what waits, once a run is over, for the end of the time that its model server stays; nil where the
// run removes it. A server ends with this process, so that nothing outlives a local run. Points of a matrix do not wait
// for each other's servers.
func (o *Options) staying(runID string, p *runplan.RunPlan) func(ctx context.Context, s executor.Status) {
	d := p.Execution.KeepFor.D()
	if d <= 0 || o.Matrix != "" || o.Say == nil {
		return nil
	}
	return func(ctx context.Context, s executor.Status) {
		endpoint := runs.EndpointOf(&s)
		if endpoint == "" || ctx.Err() != nil {
			return
		}
		o.Say(runID, "the model server stays at %s until %s; an interrupt ends it now", endpoint,
			o.Now().Add(d).Format(time.RFC3339))
		end := time.NewTimer(d)
		defer end.Stop()
		select {
		case <-ctx.Done():
		case <-o.Stop:
		case <-end.C:
		}
	}
}
