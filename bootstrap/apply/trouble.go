package apply

import (
	"context"
	"fmt"

	"bflow.dev/bflow/internal/kube"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// troubleOf returns why a Deployment is not available, according to its ReplicaSet or to its first pod that fails, ""
// if that is not known.
func (c *Cluster) troubleOf(ctx context.Context, deployment *unstructured.Unstructured) string {
	if status, message := condition(deployment, "ReplicaFailure"); status == "True" {
		return message
	}
	labels, _, _ := unstructured.NestedStringMap(deployment.Object, "spec", "selector", "matchLabels")
	selector := metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: labels})
	at := kube.Core("pods", deployment.GetNamespace(), "")
	pods, err := kube.List[corev1.Pod](ctx, c.api, at, kube.Labels(selector))
	if err != nil || len(labels) == 0 {
		return ""
	}
	for i := range pods {
		if why := kube.PodTrouble(&pods[i]); why != "" {
			return fmt.Sprintf("pod %q: %s", pods[i].Name, why)
		}
	}
	return ""
}
