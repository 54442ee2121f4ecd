package bootstrap

import (
	"context"

	"bflow.dev/bflow/bootstrap/apply"
	"bflow.dev/bflow/bootstrap/content"
	"bflow.dev/bflow/runplan/contract"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// origins returns who owns the objects on a hub. An object with the label of another hub, which uses this cluster as
// its target, belongs to others.
func (h *Hub) origins(ctx context.Context, inv Inventory) (*content.Origins, error) {
	system, err := h.cluster.Get(ctx, apply.Ref{Kind: "Namespace", Name: metav1.NamespaceSystem})
	if err != nil {
		return nil, err
	}
	herself := ""
	if system != nil {
		herself = string(system.GetUID())
	}
	listed := map[apply.Ref]bool{}
	for _, entries := range inv.Parts {
		for _, e := range entries {
			listed[e.Ref] = true
		}
	}
	return content.NewOrigins(h.cluster, func(u *unstructured.Unstructured) (content.Origin, bool) {
		labels := u.GetLabels()
		switch {
		case listed[apply.RefOf(u)], labels[contract.LabelPart] != "":
			return content.OfInstallation, true
		case labels[contract.LabelHub] != "" && labels[contract.LabelHub] != herself:
			return content.OfOthers, true
		case labels[contract.LabelManagedBy] == contract.ManagedBy, labels[contract.LabelPlanHash] != "",
			labels[contract.LabelRun] != "", labels[labelTektonPipeline] == contract.Experiment:
			return content.OfRuns, true
		}
		return content.OfOthers, false
	}), nil
}

// labelTektonPipeline is set by Tekton on everything that runs a Pipeline.
const labelTektonPipeline = "tekton.dev/pipeline"

const tektonGroup = "tekton.dev"

// contentOf returns what a namespace of a hub holds other than what Kubernetes and bootstrap put there.
func (h *Hub) contentOf(ctx context.Context, namespace string, inv Inventory) (content.Content, error) {
	whose, err := h.origins(ctx, inv)
	if err != nil {
		return content.Content{}, err
	}
	return whose.In(ctx, namespace)
}
