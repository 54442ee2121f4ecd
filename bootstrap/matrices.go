package bootstrap

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"bflow.dev/bflow/bootstrap/apply"
	"bflow.dev/bflow/runplan/contract"
)

func customRunKind() schema.GroupKind {
	return schema.GroupKind{Group: "tekton.dev", Kind: "CustomRun"}
}

// selectMatrices selects the parents of matrices, and their CustomRuns.
const selectMatrices = contract.LabelRole + "=" + contract.RoleMatrix

// endMatrices cancels matrices and waits until their runs have ended. It goes before endRuns, because a matrix
// replaces single runs that are cancelled.
func (r *removal) endMatrices(ctx context.Context) error {
	parents, err := r.cluster.List(ctx, runKind(), "", selectMatrices)
	if err != nil || len(parents) == 0 {
		return err
	}
	ended := 0
	for _, parent := range parents {
		status, over := endStatus(parent)
		if over {
			continue
		}
		if err := r.cluster.Merge(ctx, apply.RefOf(parent),
			map[string]any{"spec": map[string]any{"status": status}}); err != nil {
			return err
		}
		ended++
	}
	customs, err := r.cluster.List(ctx, customRunKind(), "", selectMatrices)
	if err != nil {
		return err
	}
	if err := r.awaitRelease(ctx, apply.RefsOf(customs), settled); err != nil {
		return adviseByHand(err, contract.FinalizerMatrix, "CustomRun")
	}
	if ended > 0 {
		r.out.done("matrices (%d cancelled)", ended)
	}
	return nil
}

// settled is satisfied when every run of a matrix has ended and was released.
func settled(custom *unstructured.Unstructured) (bool, string) {
	switch {
	case custom == nil || finished(custom) && !slices.Contains(custom.GetFinalizers(), contract.FinalizerMatrix):
		return true, ""
	case finished(custom):
		return false, "the controller has not removed its finalizer yet"
	}
	return false, "its runs have not ended yet"
}
