package provision

import (
	"context"
	"fmt"

	"bflow.dev/bflow/report/brief"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/provision/cluster"
	"bflow.dev/bflow/tasks/step"
)

// summary leaves what the run came to in a ConfigMap beside it, for lists and pages that must not open every volume. It
// is bounded, and never the reason why a run fails. On a host the run directory is at hand, so there is none.
func summary(ctx context.Context, s step.Streams, o Options, plan *runplan.RunPlan) error {
	if s.Env(contract.EnvRunDir) != "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, o.Deadline)
	defer cancel()
	if err := summarize(ctx, s, o, plan); err != nil {
		fmt.Fprintf(s.Err, "provision: %v\n", err)
	}
	return nil
}

func summarize(ctx context.Context, s step.Streams, o Options, plan *runplan.RunPlan) error {
	b, err := brief.Of(o.RunDir, plan, brief.Run{ID: o.RunID, Attempt: o.Attempt, Status: o.Status})
	if err != nil {
		return err
	}
	text, err := b.Marshal()
	if err != nil {
		return err
	}
	c, err := cluster.Here(plan.Target.Namespace, s.Env)
	if err != nil {
		return err
	}
	return c.Publish(ctx, cluster.RunOf(o.RunID, o.Attempt, s.Env), plan, brief.Key, text)
}
