package apply

import (
	"context"
	"fmt"

	"bflow.dev/bflow/internal/kube"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Delete deletes one object, without waiting until it is gone. was is true if it existed; its kind need not exist.
func (c *Cluster) Delete(ctx context.Context, ref Ref) (was bool, err error) {
	at, err := c.at(ref)
	if err == nil {
		was, err = c.api.Delete(ctx, at, kube.Deletion{})
	}
	if err != nil && !isMissing(err) {
		return false, fmt.Errorf("deleting %s: %w", ref, err)
	}
	return was, nil
}

// Release gives up every field of an object that only we own, and keeps the object and the fields of others.
func (c *Cluster) Release(ctx context.Context, ref Ref, version string) error {
	empty := &unstructured.Unstructured{Object: map[string]any{}}
	empty.SetAPIVersion(version)
	empty.SetKind(ref.Kind)
	empty.SetNamespace(ref.Namespace)
	empty.SetName(ref.Name)
	at, err := c.at(ref)
	if err == nil {
		err = c.api.Apply(ctx, at, empty, nil, kube.Write{Manager: c.manager, Force: true})
	}
	if err != nil {
		return fmt.Errorf("releasing %s: %w", ref, err)
	}
	return nil
}

// Owns reports whether we have applied an object.
func Owns(u *unstructured.Unstructured) bool {
	for _, entry := range u.GetManagedFields() {
		if entry.Manager == Manager && entry.Operation == metav1.ManagedFieldsOperationApply {
			return true
		}
	}
	return false
}

// Merge changes fields of an object that is not ours, by a JSON merge patch. It does nothing if the object does not
// exist.
func (c *Cluster) Merge(ctx context.Context, ref Ref, patch map[string]any) error {
	at, err := c.at(ref)
	if err == nil {
		err = c.api.Merge(ctx, at, patch, kube.Write{Manager: c.manager})
	}
	if err != nil && !kube.IsMissing(err) {
		return fmt.Errorf("patching %s: %w", ref, err)
	}
	return nil
}
