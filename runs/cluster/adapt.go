package cluster

import (
	"cmp"
	"context"
	"fmt"

	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
)

// Adapt fills in what bootstrap has found out about the cluster and a person has not said: it lies beside the runs. A
// namespace that bootstrap has not made is refused later, with a better sentence.
func (c *Cluster) Adapt(ctx context.Context, o *compile.Options, plan *runplan.RunPlan, platformSaid bool) error {
	namespace := plan.Target.Namespace
	cm, err := kube.Get[corev1.ConfigMap](ctx, c.api, configMaps(namespace, contract.ConfigMapHub))
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if platform := cm.Data[contract.HubPlatform]; platform != "" && !platformSaid {
		o.Platform = platform
	}
	o.ImagePrefix = cmp.Or(o.ImagePrefix, cm.Data[contract.HubImages])
	o.LoadCPU = cmp.Or(o.LoadCPU, cm.Data[contract.HubLoadCPU])
	if len(o.NodeSelector) == 0 {
		if o.NodeSelector, err = labels.ConvertSelectorToLabelsMap(cm.Data[contract.HubLoadNodes]); err != nil {
			return fmt.Errorf("reading ConfigMap %s of namespace %s: %w; run bflow bootstrap again", contract.ConfigMapHub,
				namespace, err)
		}
	}
	return nil
}
