package detect

import (
	"context"
	"strings"

	"bflow.dev/bflow/internal/kube"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Who has installed something.
const (
	ByBflow              = "bflow"
	ByUpstream           = "upstream"
	ByTektonOperator     = "Tekton operator"
	ByOpenShiftPipelines = "OpenShift Pipelines"
	ByRedHatKueue        = "Red Hat build of Kueue"
	ByOpenShiftAI        = "OpenShift AI"
)

// Install is software that may be on the cluster already.
type Install struct {
	Present   bool   `json:"present"`             // its API is served
	By        string `json:"by,omitempty"`        // one of the constants above
	Version   string `json:"version,omitempty"`   // with its leading v; "" if unknown
	Namespace string `json:"namespace,omitempty"` // of its controller; "" if there is none
	Ready     bool   `json:"ready"`               // its controller is available
}

// Foreign reports whether somebody else has installed it: it is then left alone.
func (i Install) Foreign() bool { return i.Present && i.By != ByBflow }

// Controller finds software by the name of its Deployment, which all distributions keep, while each chooses a
// namespace. It is called if the API of the software is served. The Deployment is nil if there is none.
func (c Cluster) Controller(ctx context.Context, name string) (Install, *unstructured.Unstructured, error) {
	i := Install{Present: true, By: ByUpstream}
	found, err := c.List(ctx, kube.Apps("deployments", "", ""), kube.Named(name))
	if err != nil || len(found) == 0 {
		return i, nil, err
	}
	d := &found[0]
	i.Namespace, i.Version, i.Ready = d.GetNamespace(), versionOf(d), available(d)
	if d.GetLabels()["app.kubernetes.io/managed-by"] == ByBflow || managedBy(d, ByBflow) {
		i.By = ByBflow
	}
	return i, d, nil
}

// managedBy reports whether a field manager has applied o.
func managedBy(o *unstructured.Unstructured, manager string) bool {
	for _, m := range o.GetManagedFields() {
		if m.Manager == manager && m.Operation == metav1.ManagedFieldsOperationApply {
			return true
		}
	}
	return false
}

// versionOf reads the version from the labels, or else from the tag of the first image.
func versionOf(deployment *unstructured.Unstructured) string {
	if v := deployment.GetLabels()["app.kubernetes.io/version"]; strings.HasPrefix(v, "v") {
		return v
	}
	containers, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	for _, c := range containers {
		container, _ := c.(map[string]any)
		image, _ := container["image"].(string)
		image, _, _ = strings.Cut(image, "@")
		if at := strings.LastIndex(image, ":v"); at > strings.LastIndex(image, "/") {
			return image[at+1:]
		}
	}
	return ""
}

func available(deployment *unstructured.Unstructured) bool {
	n, _, _ := unstructured.NestedInt64(deployment.Object, "status", "availableReplicas")
	return n > 0
}
