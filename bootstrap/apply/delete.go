package apply

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Delete deletes one object, without waiting until it is gone. was is true if it existed; its kind need not exist.
func (c *Cluster) Delete(ctx context.Context, ref Ref) (was bool, err error) {
	resource, err := c.resource(ref)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("deleting %s: %w", ref, err)
	}
	background := metav1.DeletePropagationBackground
	err = resource.Delete(ctx, ref.Name, metav1.DeleteOptions{PropagationPolicy: &background})
	if err != nil && !errors.IsNotFound(err) {
		return false, fmt.Errorf("deleting %s: %w", ref, err)
	}
	return err == nil, nil
}

// Release gives up every field of an object that only we own, and keeps the object and the fields of others.
func (c *Cluster) Release(ctx context.Context, ref Ref, version string) error {
	resource, err := c.resource(ref)
	if err != nil {
		return fmt.Errorf("releasing %s: %w", ref, err)
	}
	empty := &unstructured.Unstructured{Object: map[string]any{}}
	empty.SetAPIVersion(version)
	empty.SetKind(ref.Kind)
	empty.SetNamespace(ref.Namespace)
	empty.SetName(ref.Name)
	if _, err := resource.Apply(ctx, ref.Name, empty, metav1.ApplyOptions{FieldManager: c.manager, Force: true}); err != nil {
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
	resource, err := c.resource(ref)
	if err != nil {
		return fmt.Errorf("patching %s: %w", ref, err)
	}
	text, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("patching %s: %w", ref, err)
	}
	_, err = resource.Patch(ctx, ref.Name, types.MergePatchType, text, metav1.PatchOptions{FieldManager: c.manager})
	if err != nil && !errors.IsNotFound(err) {
		return fmt.Errorf("patching %s: %w", ref, err)
	}
	return nil
}
