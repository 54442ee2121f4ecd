package detect

import (
	"context"

	"bflow.dev/bflow/internal/kube"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Storage is a StorageClass.
type Storage struct {
	Name        string `json:"name"`
	Provisioner string `json:"provisioner"`
	Default     bool   `json:"default"`
	Immediate   bool   `json:"immediate"` // the volume is provisioned before its pod is scheduled
}

// Storage lists the StorageClasses.
func (c Cluster) Storage(ctx context.Context) ([]Storage, error) {
	found, err := c.List(ctx, kube.In("storage.k8s.io", "v1", "storageclasses"), kube.Selector{})
	if err != nil {
		return nil, err
	}
	classes := make([]Storage, len(found))
	for i := range found {
		o := &found[i]
		provisioner, _, _ := unstructured.NestedString(o.Object, "provisioner")
		mode, _, _ := unstructured.NestedString(o.Object, "volumeBindingMode")
		classes[i] = Storage{
			Name:        o.GetName(),
			Provisioner: provisioner,
			Default:     o.GetAnnotations()["storageclass.kubernetes.io/is-default-class"] == "true",
			Immediate:   mode != "WaitForFirstConsumer",
		}
	}
	return classes, nil
}
