package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// fieldManager owns what provision applies.
const fieldManager = "bflow-provision"

// Publish writes text under key into the ConfigMap that sums the run up, and replaces what an earlier attempt left
// there. It goes with the PipelineRun. It carries no release: it is a result, and no teardown may take it.
func (c *Cluster) Publish(ctx context.Context, run Run, plan *runplan.RunPlan, key string, text []byte) error {
	name := contract.ResultConfigMap(run.ID)
	cm := &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.Namespace, Labels: map[string]string{
			contract.LabelRun: run.ID, contract.LabelAttempt: strconv.Itoa(run.Attempt),
			contract.LabelPlanHash:   value(plan.Hash),
			contract.LabelExperiment: experiment(plan.Experiment), contract.LabelRole: "result",
			contract.LabelManagedBy: contract.ManagedBy,
		}},
		Data: map[string]string{key: string(text)},
	}
	if run.Owner != nil {
		cm.OwnerReferences = []metav1.OwnerReference{*run.Owner}
	}
	body, err := json.Marshal(cm)
	if err != nil {
		return fmt.Errorf("encoding ConfigMap %q: %w", name, err)
	}
	err = c.core.Patch(types.ApplyPatchType).Namespace(c.Namespace).Resource(string(configMaps)).Name(name).
		Param("fieldManager", fieldManager).Param("force", "true").Body(body).Do(ctx).Error()
	if err != nil {
		return fmt.Errorf("writing ConfigMap %q of namespace %q: %w", name, c.Namespace, err)
	}
	return nil
}
