package detect

import (
	"context"
	"slices"
	"strings"

	"bflow.dev/bflow/internal/kube"

	appsv1 "k8s.io/api/apps/v1"
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
// namespace. It is called if the API of the software is served. Without a Deployment the namespace is "".
func (c Cluster) Controller(ctx context.Context, name string) (Install, error) {
	i := Install{Present: true, By: ByUpstream}
	found, err := list[appsv1.Deployment](ctx, c, kube.Apps("deployments", "", ""), kube.Named(name))
	if err != nil || len(found) == 0 {
		return i, err
	}
	d := &found[0]
	i.Namespace, i.Version, i.Ready = d.Namespace, versionOf(d), d.Status.AvailableReplicas > 0
	if d.Labels["app.kubernetes.io/managed-by"] == ByBflow || managedBy(d, ByBflow) {
		i.By = ByBflow
	}
	return i, nil
}

// managedBy reports whether a field manager has applied o.
func managedBy(o metav1.Object, manager string) bool {
	return slices.ContainsFunc(o.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool {
		return m.Manager == manager && m.Operation == metav1.ManagedFieldsOperationApply
	})
}

// versionOf reads the version from the labels, or else from the tag of the first image.
func versionOf(d *appsv1.Deployment) string {
	if v := d.Labels["app.kubernetes.io/version"]; strings.HasPrefix(v, "v") {
		return v
	}
	for _, container := range d.Spec.Template.Spec.Containers {
		image, _, _ := strings.Cut(container.Image, "@")
		if at := strings.LastIndex(image, ":v"); at > strings.LastIndex(image, "/") {
			return image[at+1:]
		}
	}
	return ""
}
