package bootstrap

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"bflow.dev/bflow/bootstrap/apply"
	"bflow.dev/bflow/bootstrap/content"
	"bflow.dev/bflow/runplan/contract"
)

// Kinds that hold data of runs, and the Workload that holds the place of a run in its queue.
func runKind() schema.GroupKind    { return schema.GroupKind{Group: "tekton.dev", Kind: "PipelineRun"} }
func volumeKind() schema.GroupKind { return schema.GroupKind{Kind: "PersistentVolumeClaim"} }
func workloadKind() schema.GroupKind {
	return schema.GroupKind{Group: "kueue.x-k8s.io", Kind: "Workload"}
}

// selectRuns selects runs in any namespace.
const selectRuns = contract.LabelPlanHash

// Data counts the results of runs that an uninstallation would delete.
type Data struct {
	Runs, Volumes int
	In            map[string]int // namespace -> objects with data
}

// Empty reports whether nothing would be lost.
func (d Data) Empty() bool { return d.Runs+d.Volumes == 0 }

func (d Data) String() string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{d.Runs, "runs"}, {d.Volumes, "volumes with results"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	return strings.Join(parts, ", ")
}

// dataOf counts what would be lost. A volume that no run made belongs to somebody else, and stays.
func (h *Hub) dataOf(ctx context.Context, inv Inventory) (Data, error) {
	d := Data{In: map[string]int{}}
	whose, err := h.origins(ctx, inv)
	if err != nil {
		return d, err
	}
	runs, err := h.cluster.List(ctx, runKind(), "", selectRuns)
	if err != nil {
		return d, err
	}
	d.Runs = len(runs)
	for _, run := range runs {
		d.In[run.GetNamespace()]++
	}
	for _, namespace := range inv.namespaces() {
		volumes, err := h.cluster.List(ctx, volumeKind(), namespace, "")
		if err != nil {
			return d, err
		}
		for _, volume := range volumes {
			origin, err := whose.Of(ctx, volume)
			if err != nil {
				return d, err
			}
			if origin == content.OfRuns {
				d.Volumes++
				d.In[namespace]++
			}
		}
	}
	return d, nil
}

// namespaces returns the namespaces of runs, including those that an earlier uninstallation had to leave.
func (inv Inventory) namespaces() []string {
	var names []string
	for _, e := range inv.Parts[partBflow] {
		if isNamespace(e.Ref) && e.Name != contract.NamespaceSystem {
			names = append(names, e.Name)
		}
	}
	return names
}

// deleteResults deletes what runs left, if that may be deleted. It goes before Tekton's CRDs, so that what a run owns
// is deleted with it.
func (r *removal) deleteResults(ctx context.Context) error {
	if !r.drop {
		return nil
	}
	for _, namespace := range r.inventory.namespaces() {
		if err := r.sweep(ctx, namespace); err != nil {
			return err
		}
	}
	return nil
}

// sweep deletes what runs left in a namespace. Runs go first, so that nobody recreates what they owned.
func (r *removal) sweep(ctx context.Context, namespace string) error {
	c, err := r.contentOf(ctx, namespace, r.inventory)
	if err != nil {
		return err
	}
	refs := apply.RefsOf(c.Results)
	isRun := func(ref apply.Ref) bool { return ref.Group == tektonGroup }
	rest := slices.DeleteFunc(slices.Clone(refs), isRun)
	for _, some := range [][]apply.Ref{slices.DeleteFunc(refs, func(ref apply.Ref) bool { return !isRun(ref) }), rest} {
		if _, err := r.remove(ctx, some); err != nil {
			return err
		}
	}
	return nil
}
