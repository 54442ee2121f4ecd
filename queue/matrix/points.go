package matrix

import (
	"context"
	"fmt"
	"slices"

	"bflow.dev/bflow/runplan/contract"

	tektonv1beta1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// points returns those of a matrix, which are kept while it lives. On the way it makes the matrix an owner of them, so
// that they go with the last one that needs them.
func (r *Reconciler) points(ctx context.Context, cr *tektonv1beta1.CustomRun, o order) (Points, error) {
	r.mu.Lock()
	known := r.read[cr.UID]
	r.mu.Unlock()
	if known != nil {
		return known, nil
	}
	all := r.compiler.NewPoints(o.root)
	for n := range o.pieces {
		cm := &corev1.ConfigMap{}
		key := client.ObjectKey{Namespace: cr.Namespace, Name: contract.PlansConfigMap(o.root, n)}
		if err := r.live.Get(ctx, key, cm); err != nil {
			return nil, err
		}
		if err := all.Add(cm); err != nil {
			return nil, err
		}
		if err := r.adopt(ctx, cr, cm); err != nil {
			return nil, err
		}
	}
	if err := all.Close(); err != nil {
		return nil, err
	}
	if all.Len() != o.points {
		return nil, fmt.Errorf("reading the points: there are %d, and param %q says %d", all.Len(), contract.ParamPoints,
			o.points)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read[cr.UID] = all
	return all, nil
}

// forget drops what is kept of a matrix in memory.
func (r *Reconciler) forget(id types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.read, id)
	delete(r.wrote, id)
}

// adopt makes the matrix one of the owners of a ConfigMap.
func (r *Reconciler) adopt(ctx context.Context, cr *tektonv1beta1.CustomRun, cm *corev1.ConfigMap) error {
	if slices.ContainsFunc(cm.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == cr.UID }) {
		return nil
	}
	before := client.MergeFromWithOptions(cm.DeepCopy(), client.MergeFromWithOptimisticLock{})
	cm.OwnerReferences = append(cm.OwnerReferences, ownedBy(cr, false))
	if err := r.client.Patch(ctx, cm, before); err != nil {
		return fmt.Errorf("keeping ConfigMap %q for matrix %q: %w", cm.Name, nameOf(cr), err)
	}
	return nil
}

// ownedBy is the reference to a matrix as an owner; the controlling one for its runs.
func ownedBy(cr *tektonv1beta1.CustomRun, controller bool) metav1.OwnerReference {
	ref := metav1.OwnerReference{APIVersion: tektonv1beta1.SchemeGroupVersion.String(), Kind: kind, Name: cr.Name,
		UID: cr.UID}
	if controller {
		ref.Controller, ref.BlockOwnerDeletion = &controller, &controller
	}
	return ref
}
