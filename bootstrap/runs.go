package bootstrap

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/bootstrap/apply"
	"bflow.dev/bflow/tasks/contract"
)

// endRuns cancels what runs or waits, and returns when the controller has given everything back. When data goes the runs
// are deleted here, while those who hold finalizers on them and on their Workloads still live.
func (r *removal) endRuns(ctx context.Context) error {
	runs, err := r.cluster.List(ctx, runKind(), "", selectRuns)
	if err != nil {
		return err
	}
	ended := 0
	for _, run := range runs {
		if status, over := ending(run); !over {
			if err := r.cluster.Merge(ctx, apply.RefOf(run), map[string]any{"spec": map[string]any{"status": status}}); err != nil {
				return err
			}
			ended++
		}
	}
	if err := r.cluster.Wait(ctx, apply.RefsOf(runs), released, r.waiting); err != nil {
		return fmt.Errorf("%w; look at the controller in %q, or remove finalizer %q from the run when nothing of it is left", err,
			contract.NamespaceSystem, contract.Finalizer)
	}
	if ended > 0 {
		r.done("runs (%d cancelled)", ended)
	}
	if !r.drop {
		return nil
	}
	return r.remove(ctx, apply.RefsOf(runs))
}

// ending is what to write into spec.status so that a run ends: one that was never let start must not run its finally.
func ending(run *unstructured.Unstructured) (status string, over bool) {
	now, _, _ := unstructured.NestedString(run.Object, "spec", "status")
	switch {
	case finished(run):
		return "", true
	case now == "PipelineRunPending":
		return "Cancelled", false
	case now == "":
		return "CancelledRunFinally", false
	}
	return "", true // it is ending already
}

func finished(run *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(run.Object, "status", "conditions")
	for _, entry := range conditions {
		if c, ok := entry.(map[string]any); ok && c["type"] == "Succeeded" {
			return c["status"] != "Unknown"
		}
	}
	return false
}

// released is satisfied when a run is over and nothing of it is left on its target.
func released(run *unstructured.Unstructured) (bool, string) {
	switch {
	case run == nil:
		return true, ""
	case slices.Contains(run.GetFinalizers(), contract.Finalizer):
		return false, "its GPUs are not given back yet"
	case !finished(run):
		return false, "it has not ended yet"
	}
	return true, ""
}
