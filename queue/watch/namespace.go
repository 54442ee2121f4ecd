package watch

import (
	"context"
	"fmt"
	"slices"

	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// RunNamespaces returns the namespaces of runs, sorted.
func RunNamespaces(ctx context.Context, c client.Reader) ([]string, error) {
	var list corev1.NamespaceList
	if err := c.List(ctx, &list, client.MatchingLabels{contract.LabelEnabled: "true"},
		client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the namespaces of runs: %w", err)
	}
	var out []string
	for i := range list.Items {
		out = append(out, list.Items[i].Name)
	}
	slices.Sort(out)
	return out, nil
}

// IsRunNamespace says whether a namespace is one of runs. One that does not exist is none.
func IsRunNamespace(ctx context.Context, c client.Reader, name string) (bool, error) {
	namespace := &corev1.Namespace{}
	if err := c.Get(ctx, client.ObjectKey{Name: name}, namespace); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return isEnabled(namespace), nil
}

func isEnabled(namespace client.Object) bool {
	return namespace.GetLabels()[contract.LabelEnabled] == "true"
}

// OnlyRunNamespaces makes a reader of a cache that finds nothing in other namespaces than those of runs. What lies in
// no namespace is found as before.
func OnlyRunNamespaces(cache client.Reader) client.Reader { return runNamespacesReader{cache} }

type runNamespacesReader struct{ cache client.Reader }

// Get answers that an object of another namespace is not there.
func (h runNamespacesReader) Get(ctx context.Context, key client.ObjectKey, o client.Object,
	opts ...client.GetOption) error {
	if key.Namespace != "" {
		if shown, err := IsRunNamespace(ctx, h.cache, key.Namespace); err != nil {
			return err
		} else if !shown {
			return apierrors.NewNotFound(schema.GroupResource{}, key.Namespace+"/"+key.Name)
		}
	}
	return h.cache.Get(ctx, key, o, opts...)
}

// List leaves out what lies in other namespaces.
func (h runNamespacesReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	asked := client.ListOptions{}
	asked.ApplyOptions(opts)
	if asked.Namespace != "" {
		shown, err := IsRunNamespace(ctx, h.cache, asked.Namespace)
		if err != nil {
			return err
		}
		if !shown {
			return apimeta.SetList(list, nil)
		}
		return h.cache.List(ctx, list, opts...)
	}
	if err := h.cache.List(ctx, list, opts...); err != nil {
		return err
	}
	names, err := RunNamespaces(ctx, h.cache)
	if err != nil {
		return err
	}
	return filter(list, func(o metav1.Object) bool {
		_, found := slices.BinarySearch(names, o.GetNamespace())
		return found || o.GetNamespace() == ""
	})
}

// filter keeps of a list what passes. Of the kinds that there are thousands of nothing is looked at by reflection.
func filter(list client.ObjectList, passes func(metav1.Object) bool) error {
	switch l := list.(type) {
	case *tektonv1.PipelineRunList:
		l.Items = slices.DeleteFunc(l.Items, func(o tektonv1.PipelineRun) bool { return !passes(&o) })
		return nil
	case *kueue.WorkloadList:
		l.Items = slices.DeleteFunc(l.Items, func(o kueue.Workload) bool { return !passes(&o) })
		return nil
	}
	items, err := apimeta.ExtractList(list)
	if err != nil {
		return err
	}
	kept := slices.DeleteFunc(items, func(o runtime.Object) bool {
		object, err := apimeta.Accessor(o)
		return err == nil && !passes(object)
	})
	return apimeta.SetList(list, kept)
}

// Enabled passes a namespace at the moment at which it becomes one of runs. Those that are when a watch begins do not
// pass: what lies in them has events of its own.
func Enabled() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return isEnabled(e.Object) && !e.IsInInitialList },
		UpdateFunc:  func(e event.UpdateEvent) bool { return isEnabled(e.ObjectNew) && !isEnabled(e.ObjectOld) },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// RunsOf requests all runs of a namespace.
func RunsOf(c client.Reader) handler.MapFunc { return ObjectsOf(c, &tektonv1.PipelineRunList{}) }

// ObjectsOf requests all objects of a namespace that c lists of a kind.
func ObjectsOf(c client.Reader, kind client.ObjectList) handler.MapFunc {
	return func(ctx context.Context, namespace client.Object) (out []reconcile.Request) {
		list := kind.DeepCopyObject().(client.ObjectList)
		if err := c.List(ctx, list, client.InNamespace(namespace.GetName()), client.UnsafeDisableDeepCopy); err != nil {
			return nil // the cache is not filled yet: each has an event then
		}
		_ = apimeta.EachListItem(list, func(o runtime.Object) error { // which ends with none
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o.(client.Object))})
			return nil
		})
		return out
	}
}
