package detect

import (
	"context"

	"bflow.dev/bflow/internal/kube"

	storagev1 "k8s.io/api/storage/v1"
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
	at := kube.In("storage.k8s.io", "v1", "storageclasses")
	found, err := list[storagev1.StorageClass](ctx, c, at, kube.Selector{})
	if err != nil {
		return nil, err
	}
	classes := make([]Storage, len(found))
	for i, o := range found {
		mode := o.VolumeBindingMode
		classes[i] = Storage{
			Name: o.Name, Provisioner: o.Provisioner,
			Default:   o.Annotations["storageclass.kubernetes.io/is-default-class"] == "true",
			Immediate: mode == nil || *mode != storagev1.VolumeBindingWaitForFirstConsumer,
		}
	}
	return classes, nil
}
