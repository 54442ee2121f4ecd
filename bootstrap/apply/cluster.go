package apply

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// Manager is the field manager of what Apply writes, unless As names another.
const Manager = "bflow"

// Cluster reads and writes objects of an API server without knowing their types.
type Cluster struct {
	manager string
	objects dynamic.Interface
	apis    discovery.DiscoveryInterface
	mapper  meta.ResettableRESTMapper

	imagePullGrace time.Duration // how long an image may fail to be pulled
}

// Connect returns the cluster that cfg leads to; it opens no connection yet.
func Connect(cfg *rest.Config) (*Cluster, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1 // there is only one request at a time
	cfg.WarningHandler = rest.NoWarnings{}
	objects, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("preparing access to %q: %w", cfg.Host, err)
	}
	apis, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("preparing access to %q: %w", cfg.Host, err)
	}
	return &Cluster{manager: Manager, objects: objects, apis: apis, imagePullGrace: imagePullGrace,
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(apis))}, nil
}

// As returns the same cluster with another field manager, for objects that are shared with ours: applying them under
// our manager would give up the fields that we wrote.
func (c *Cluster) As(manager string) *Cluster {
	out := *c
	out.manager = manager
	return &out
}

// resource returns the client for a kind. Discovery is repeated once for an unknown kind, because its CRD may be new.
func (c *Cluster) resource(ref Ref) (dynamic.ResourceInterface, error) {
	mapping, err := c.mapper.RESTMapping(ref.GroupKind())
	if meta.IsNoMatchError(err) {
		c.mapper.Reset()
		mapping, err = c.mapper.RESTMapping(ref.GroupKind())
	}
	if err != nil {
		return nil, err
	}
	return c.in(mapping, ref.Namespace), nil
}

func (c *Cluster) in(mapping *meta.RESTMapping, namespace string) dynamic.ResourceInterface {
	all := c.objects.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace && namespace != "" {
		return all.Namespace(namespace)
	}
	return all
}

// Get reads one object. It returns nil, without an error, if the object or its kind does not exist.
func (c *Cluster) Get(ctx context.Context, ref Ref) (*unstructured.Unstructured, error) {
	resource, err := c.resource(ref)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", ref, err)
	}
	obj, err := resource.Get(ctx, ref.Name, metav1.GetOptions{})
	if errors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", ref, err)
	}
	return obj, nil
}

// List reads the objects of a kind that a label selector matches, in one namespace or, if that is empty, in all. There
// are none if the kind does not exist.
func (c *Cluster) List(ctx context.Context, kind schema.GroupKind, namespace, selector string) ([]*unstructured.Unstructured, error) {
	resource, err := c.resource(Ref{Group: kind.Group, Kind: kind.Kind, Namespace: namespace})
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", kind, err)
	}
	list, err := resource.List(ctx, metav1.ListOptions{LabelSelector: selector})
	if errors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", kind, err)
	}
	all := make([]*unstructured.Unstructured, len(list.Items))
	for i := range list.Items {
		all[i] = &list.Items[i]
	}
	return all, nil
}

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
