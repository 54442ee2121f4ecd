package bootstrap

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/bootstrap/apply"
	"bflow.dev/bflow/runplan/contract"
)

// endRuns cancels the runs that wait or run, and waits until the controller has released them. Finished runs stay:
// they are data, which is deleted with the CRDs if at all.
func (r *removal) endRuns(ctx context.Context) error {
	runs, err := r.cluster.List(ctx, runKind(), "", selectRuns)
	if err != nil {
		return err
	}
	ended := 0
	for _, run := range runs {
		if status, over := endStatus(run); !over {
			if err := r.cluster.Merge(ctx, apply.RefOf(run), map[string]any{
				"spec": map[string]any{"status": status}}); err != nil {
				return err
			}
			ended++
		}
	}
	if err := r.awaitRelease(ctx, apply.RefsOf(runs), released); err != nil {
		return adviseByHand(err, contract.Finalizer, "run")
	}
	workloads, err := r.cluster.List(ctx, workloadKind(), "", "")
	if err != nil {
		return err
	}
	workloads = slices.DeleteFunc(workloads, func(w *unstructured.Unstructured) bool { return !isOfRun(w) })
	if err := r.awaitRelease(ctx, apply.RefsOf(workloads), unheld); err != nil {
		return err
	}
	if ended > 0 {
		r.out.done("runs (%d cancelled)", ended)
	}
	return nil
}

func isOfRun(workload *unstructured.Unstructured) bool {
	return slices.ContainsFunc(workload.GetOwnerReferences(),
		func(o metav1.OwnerReference) bool { return o.Kind == runKind().Kind })
}

// unheld is satisfied when an object has no finalizers.
func unheld(u *unstructured.Unstructured) (bool, string) {
	if u == nil || len(u.GetFinalizers()) == 0 {
		return true, ""
	}
	return false, fmt.Sprintf("finalizers %q are still on it", u.GetFinalizers())
}

// statusPending is spec.status of a run that waits for admission.
const statusPending = "PipelineRunPending"

// endStatus returns the spec.status that ends a run: one that has never started must not run its finally tasks.
func endStatus(run *unstructured.Unstructured) (status string, over bool) {
	now, _, _ := unstructured.NestedString(run.Object, "spec", "status")
	switch {
	case finished(run):
		return "", true
	case now == statusPending:
		return "Cancelled", false
	case now == "":
		return "CancelledRunFinally", false
	}
	return "", true // it is already ending
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

// released is satisfied when a run has ended and nothing of it is left on its target.
func released(run *unstructured.Unstructured) (bool, string) {
	switch {
	case run == nil:
		return true, ""
	case slices.Contains(run.GetFinalizers(), contract.Finalizer):
		return false, "its quota is not released yet"
	case !finished(run):
		return false, "it has not ended yet"
	}
	return true, ""
}
