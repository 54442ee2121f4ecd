// Package detect reads what a cluster is, and who has installed software on it. Every question is a request of its
// own, so that an account with few rights still gets its answers. It must not change anything.
package detect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bflow.dev/bflow/internal/kube"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
)

// Cluster is the cluster to read from.
type Cluster struct{ Client *kube.Client }

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
	asked, err := c.Client.Discovery()
	if err != nil {
		return nil, err
	}
	_, lists, err := asked.ServerGroupsAndResources()
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

// List reads all objects that a selector selects, in all namespaces if at names none.
func (c Cluster) List(ctx context.Context, at kube.At, sel kube.Selector) ([]unstructured.Unstructured, error) {
	return list[unstructured.Unstructured](ctx, c, at, sel)
}

func list[T any](ctx context.Context, c Cluster, at kube.At, sel kube.Selector) ([]T, error) {
	found, err := kube.List[T](ctx, c.Client, at, sel)
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", at.Resource, err)
	}
	return found, nil
}

// Get reads one object.
func (c Cluster) Get(ctx context.Context, at kube.At) (*unstructured.Unstructured, error) {
	o, err := kube.Get[unstructured.Unstructured](ctx, c.Client, at)
	if err != nil {
		return nil, fmt.Errorf("reading %s %q: %w", at.Resource, at.Name, err)
	}
	return o, nil
}
