package cluster

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// plural names a kind of object that is read or made by its Go type. Those of platforms are in the table of package
// platform.
type plural string

const (
	pods        plural = "pods"
	services    plural = "services"
	configMaps  plural = "configmaps"
	events      plural = "events"
	nodes       plural = "nodes" // the only one that is in no namespace
	replicaSets plural = "replicasets"
	jobs        plural = "jobs"
	secrets     plural = "secrets"
)

// list returns an empty list of r.
func (r plural) list() runtime.Object {
	switch r {
	case pods:
		return &corev1.PodList{}
	case services:
		return &corev1.ServiceList{}
	case configMaps:
		return &corev1.ConfigMapList{}
	case events:
		return &corev1.EventList{}
	case nodes:
		return &corev1.NodeList{}
	case jobs:
		return &batchv1.JobList{}
	default:
		return &appsv1.ReplicaSetList{}
	}
}

// object is a pointer to a Kubernetes object of type T.
type object[T any] interface {
	*T
	metav1.Object
	runtime.Object
}

func (c *Cluster) client(r plural) rest.Interface {
	switch r {
	case replicaSets:
		return c.apps
	case jobs:
		return c.batch
	default:
		return c.core
	}
}

// create makes obj. One that is there already is somebody else's: names of ours hold the run. A server, or a webhook
// that it asks, that does not answer is asked again for as long as time may mend it; then what is there may be of the
// try before.
func (c *Cluster) create(ctx context.Context, r plural, obj runtime.Object) error {
	return c.createBy(ctx, r, nameOf(obj), func() *rest.Request {
		return c.client(r).Post().Namespace(c.Namespace).Resource(string(r)).Body(obj)
	})
}

// createBy is create with a request, which is made anew for each try.
func (c *Cluster) createBy(ctx context.Context, r plural, name string, request func() *rest.Request) error {
	begin := time.Now()
	for tried := false; ; tried = true {
		err := request().Do(ctx).Error()
		switch {
		case err == nil, tried && apierrors.IsAlreadyExists(err):
			return nil
		case apierrors.IsAlreadyExists(err):
			return fmt.Errorf("creating %s %q in namespace %q: the name is taken; remove that object, or rename the experiment",
				r, name, c.Namespace)
		case !passing(err) || ctx.Err() != nil || time.Since(begin) > maxUnanswered:
			return fmt.Errorf("creating %s %q in namespace %q: %w", r, name, c.Namespace, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(again):
		}
	}
}

// passing says whether the same request may have another answer in a moment.
func passing(err error) bool {
	return apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsTimeout(err) ||
		unanswered(err.Error())
}

// all returns the objects of r that match selector.
func all[T any, P object[T]](ctx context.Context, c *Cluster, r plural, selector string) ([]P, error) {
	items, _, err := page[T, P](ctx, c, r, selector)
	return items, err
}

// page returns the objects of r that match selector, and the version at which they were so.
func page[T any, P object[T]](ctx context.Context, c *Cluster, r plural, selector string) ([]P, string, error) {
	request := c.client(r).Get().Resource(string(r)).Param("labelSelector", selector)
	if r != nodes {
		request = request.Namespace(c.Namespace)
	}
	list := r.list()
	if err := request.Do(ctx).Into(list); err != nil {
		return nil, "", fmt.Errorf("listing %s of namespace %q: %w", r, c.Namespace, err)
	}
	found, err := meta.ExtractList(list)
	if err != nil {
		return nil, "", err
	}
	items := make([]P, len(found))
	for i := range found {
		items[i] = found[i].(P)
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return nil, "", err
	}
	return items, accessor.GetResourceVersion(), nil
}

// remove deletes an object together with what it owns; one that is gone is fine.
func (c *Cluster) remove(ctx context.Context, r plural, name string) error {
	return c.removeBy(ctx, r, name, func() *rest.Request {
		return c.client(r).Delete().Namespace(c.Namespace).Resource(string(r)).Name(name)
	})
}

// removeBy is remove with a request.
func (c *Cluster) removeBy(ctx context.Context, r plural, name string, request func() *rest.Request) error {
	foreground := metav1.DeletePropagationForeground
	err := request().Body(&metav1.DeleteOptions{PropagationPolicy: &foreground}).Do(ctx).Error()
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting %s %q of namespace %q: %w", r, name, c.Namespace, err)
	}
	return nil
}

func nameOf(obj runtime.Object) string {
	m, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	return m.GetName()
}
