package cluster

import (
	"context"
	"fmt"
	"time"

	queuerun "bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/runs/leaks"

	"k8s.io/utils/clock"
)

// deleteRun deletes a run with the help of the controller, or without it where that is gone.
func (c *Cluster) deleteRun(ctx context.Context, on runs.Console, run *Run, force bool) error {
	held := func(why string) { fmt.Fprintf(on.Err, "waiting for %s: %s\n", run.ID, why) }
	if !force || !c.Orphaned(ctx, time.Now()) {
		return c.Delete(ctx, run, force, held)
	}
	last := run.Last()
	orphan := leaks.Orphan{Namespace: run.Namespace, ID: run.ID, Target: queuerun.Target(last),
		Metrics: last.Annotations[contract.AnnotationMetrics] != ""}
	for _, pr := range run.Attempts {
		orphan.Attempts, orphan.UIDs = append(orphan.Attempts, pr.Name), append(orphan.UIDs, string(pr.UID))
	}
	fmt.Fprintf(on.Err, "%s is not running; deleting %s without it\n", contract.AccountController, run.ID)
	return c.DeleteOrphan(ctx, run, func(ctx context.Context) {
		for _, what := range leaks.TearDown(ctx, c.api.Config, orphan, clock.RealClock{}) {
			fmt.Fprintf(on.Err, "could not verify that %s\n", what)
		}
	}, held)
}
