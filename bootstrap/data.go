package bootstrap

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"bflow.dev/bflow/bootstrap/apply"
	"bflow.dev/bflow/tasks/contract"
)

// Kinds that hold data of runs, and those that a run leaves in its namespace.
func runKind() schema.GroupKind    { return schema.GroupKind{Group: "tekton.dev", Kind: "PipelineRun"} }
func volumeKind() schema.GroupKind { return schema.GroupKind{Kind: "PersistentVolumeClaim"} }
func workloadKind() schema.GroupKind {
	return schema.GroupKind{Group: "kueue.x-k8s.io", Kind: "Workload"}
}

func runKinds() []schema.GroupKind {
	return []schema.GroupKind{runKind(), {Group: "tekton.dev", Kind: "TaskRun"}, {Group: "tekton.dev", Kind: "Pipeline"},
		{Group: "tekton.dev", Kind: "Task"}, {Kind: "ConfigMap"}, {Kind: "Secret"}, volumeKind(),
		{Group: "apps", Kind: "Deployment"}, {Group: "batch", Kind: "Job"}, {Kind: "Service"}, {Kind: "Pod"}}
}

// ours and of a run: what carries our name, what Tekton made for a run, and who started it by Pipeline bflow-experiment.
const (
	selectOurs     = contract.LabelManagedBy + "=" + contract.ManagedBy + ",!" + LabelPart
	selectRuns     = contract.LabelPlanHash
	selectStarters = "tekton.dev/pipeline=" + contract.Experiment
)

// Data is what an uninstallation would take from people: results of runs, and objects of others that live by CRDs of ours.
type Data struct {
	Runs, Volumes, Others int
	In                    map[string]int // namespace -> objects with data
}

// Empty tells whether nothing would be lost.
func (d Data) Empty() bool { return d.Runs+d.Volumes+d.Others == 0 }

func (d Data) String() string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{d.Runs, "runs"}, {d.Volumes, "volumes with results"}, {d.Others, "objects of others under CRDs of Tekton or Kueue"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	return strings.Join(parts, ", ")
}

// dataOf counts what would be lost.
func (h *Hub) dataOf(ctx context.Context, inv Inventory) (Data, error) {
	d := Data{In: map[string]int{}}
	runs, err := h.cluster.List(ctx, runKind(), "", selectRuns)
	if err != nil {
		return d, err
	}
	d.Runs = len(runs)
	for _, run := range runs {
		d.In[run.GetNamespace()]++
	}
	for _, e := range inv.Parts[partBflow] {
		if e.Kind != "Namespace" || e.Name == contract.NamespaceSystem {
			continue
		}
		volumes, err := h.cluster.List(ctx, volumeKind(), e.Name, "")
		if err != nil {
			return d, err
		}
		d.Volumes += len(volumes)
		d.In[e.Name] += len(volumes)
	}
	d.Others, err = h.others(ctx, inv)
	return d, err
}

// others counts the objects of our CRDs that no run and no part of ours made.
func (h *Hub) others(ctx context.Context, inv Inventory) (int, error) {
	count := 0
	for _, part := range []string{partTekton, partKueue} {
		for _, e := range inv.Parts[part] {
			if e.Kind != "CustomResourceDefinition" {
				continue
			}
			crd, err := h.cluster.Get(ctx, e.Ref)
			if err != nil {
				return 0, err
			}
			if crd == nil {
				continue
			}
			all, err := h.cluster.List(ctx, kindOf(crd), "", "")
			if err != nil {
				return 0, err
			}
			for _, o := range all {
				if foreign(o) {
					count++
				}
			}
		}
	}
	return count, nil
}

func foreign(o *unstructured.Unstructured) bool {
	labels := o.GetLabels()
	return labels[contract.LabelManagedBy] != contract.ManagedBy && labels[contract.LabelPlanHash] == "" && len(o.GetOwnerReferences()) == 0
}

// sweep deletes what runs left in a namespace that itself stays.
func (r *removal) sweep(ctx context.Context, namespace string) error {
	for _, kind := range runKinds() {
		for _, selector := range []string{selectStarters, selectOurs, selectRuns} {
			all, err := r.cluster.List(ctx, kind, namespace, selector)
			if err != nil {
				return err
			}
			if _, err := r.remove(ctx, apply.RefsOf(all)); err != nil {
				return err
			}
		}
	}
	return nil
}
