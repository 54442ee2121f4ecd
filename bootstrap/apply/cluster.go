package apply

import (
	"context"
	"fmt"
	"time"

	"bflow.dev/bflow/internal/kube"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
)

// Manager is the field manager of what Apply writes, unless As names another.
const Manager = kube.Manager

// Cluster reads and writes objects of an API server without knowing their types.
type Cluster struct {
	manager string
	api     *kube.Client
	apis    discovery.DiscoveryInterface
	mapper  meta.ResettableRESTMapper

	imagePullGrace time.Duration // how long an image may fail to be pulled
	writeTimeout   time.Duration // how long a write may take whose ctx has no deadline
}

// New returns the cluster that a client leads to; it opens no connection yet.
func New(api *kube.Client) (*Cluster, error) {
	apis, err := api.Discovery()
	if err != nil {
		return nil, err
	}
	return &Cluster{manager: Manager, api: api, apis: apis, imagePullGrace: imagePullGrace, writeTimeout: writeTimeout,
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(apis))}, nil
}

// As returns the same cluster with another field manager, for objects that are shared with ours: applying them under
// our manager would give up the fields that we wrote.
func (c *Cluster) As(manager string) *Cluster {
	out := *c
	out.manager = manager
	return &out
}

// at returns where an object is. Discovery is repeated once for an unknown kind, because its CRD may be new.
func (c *Cluster) at(ref Ref) (kube.At, error) {
	mapping, err := c.mapper.RESTMapping(ref.GroupKind())
	if meta.IsNoMatchError(err) {
		c.mapper.Reset()
		mapping, err = c.mapper.RESTMapping(ref.GroupKind())
	}
	if err != nil {
		return kube.At{}, c.api.Explain(err)
	}
	at := kube.At{GroupVersionResource: mapping.Resource, Name: ref.Name}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		at.Namespace = ref.Namespace
	}
	return at, nil
}

// Get reads one object. It returns nil, without an error, if the object or its kind does not exist.
func (c *Cluster) Get(ctx context.Context, ref Ref) (*unstructured.Unstructured, error) {
	at, err := c.at(ref)
	var obj *unstructured.Unstructured
	if err == nil {
		obj, err = kube.Get[unstructured.Unstructured](ctx, c.api, at)
	}
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", ref, err)
	}
	return obj, nil
}

// isMissing reports whether an object or its kind does not exist.
func isMissing(err error) bool { return meta.IsNoMatchError(err) || kube.IsMissing(err) }

// List reads the objects of a kind that a label selector matches, in one namespace or, if that is empty, in all. There
// are none if the kind does not exist.
func (c *Cluster) List(ctx context.Context, kind schema.GroupKind, namespace,
	selector string) ([]*unstructured.Unstructured, error) {
	at, err := c.at(Ref{Group: kind.Group, Kind: kind.Kind, Namespace: namespace})
	var items []unstructured.Unstructured
	if err == nil {
		items, err = kube.List[unstructured.Unstructured](ctx, c.api, at, kube.Labels(selector))
	}
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", kind, err)
	}
	all := make([]*unstructured.Unstructured, len(items))
	for i := range items {
		all[i] = &items[i]
	}
	return all, nil
}
