// Package detect reads what a cluster is, and who has installed software on it. Every question is a request of its
// own, so that an account with few rights still gets its answers. It must not change anything.
package detect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Cluster is the cluster to read from.
type Cluster struct {
	Discovery discovery.DiscoveryInterface
	Dynamic   dynamic.Interface
}

// Connect returns the cluster of cfg. It opens no connection yet.
func Connect(cfg *rest.Config) (Cluster, error) {
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return Cluster{}, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	d, err := discovery.NewDiscoveryClientForConfigAndClient(cfg, client)
	if err != nil {
		return Cluster{}, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	dyn, err := dynamic.NewForConfigAndClient(cfg, client)
	if err != nil {
		return Cluster{}, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	return Cluster{Discovery: d, Dynamic: dyn}, nil
}

// Found is what a cluster is, regardless of what is installed on it.
type Found struct {
	Platform Platform  `json:"platform"`
	Storage  []Storage `json:"storage"`
	Nodes    Nodes     `json:"nodes"`
}

// Of reads everything. If something cannot be read, it returns an error and the rest.
func Of(ctx context.Context, c Cluster, api API) (Found, error) {
	var f Found
	problems := make([]error, 3)
	f.Platform, problems[0] = c.Platform(ctx, api)
	f.Storage, problems[1] = c.Storage(ctx)
	f.Nodes, problems[2] = c.Nodes(ctx, api)
	return f, errors.Join(problems...)
}

// API is what the cluster serves: group/version -> resources.
type API map[string][]string

// API reads the served resources. A group whose server is down is left out.
func (c Cluster) API() (API, error) {
	_, lists, err := c.Discovery.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, fmt.Errorf("reading the API groups of the cluster: %w", err)
	}
	api := API{}
	for _, list := range lists {
		for _, r := range list.APIResources {
			api[list.GroupVersion] = append(api[list.GroupVersion], r.Name)
		}
	}
	return api, nil
}

// Serves reports whether the cluster serves a resource in this version.
func (a API) Serves(groupVersion, resource string) bool {
	return slices.Contains(a[groupVersion], resource)
}

// Versions returns the served versions of a group, sorted.
func (a API) Versions(group string) []string {
	var versions []string
	for groupVersion := range a {
		if g, version, ok := strings.Cut(groupVersion, "/"); ok && g == group {
			versions = append(versions, version)
		}
	}
	slices.Sort(versions)
	return versions
}

// List reads all objects of a resource, in all namespaces if namespace is "".
func (c Cluster) List(ctx context.Context, gvr schema.GroupVersionResource, namespace string, o metav1.ListOptions) ([]unstructured.Unstructured, error) {
	found, err := c.Dynamic.Resource(gvr).Namespace(namespace).List(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", gvr.Resource, err)
	}
	return found.Items, nil
}

// Get reads one object.
func (c Cluster) Get(ctx context.Context, gvr schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	o, err := c.Dynamic.Resource(gvr).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading %s %q: %w", gvr.Resource, name, err)
	}
	return o, nil
}

// Core returns a resource of the core API.
func Core(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: resource}
}

// In returns a resource of a group and version.
func In(group, version, resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: resource}
}
