package apply

import (
	"context"
	"fmt"
	"slices"
	"time"

	"bflow.dev/bflow/internal/kube"

	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// discoveryGrace is how long an API may be registered without a server that answers, as that of a server that was just
// deleted.
const discoveryGrace = 15 * time.Second

// ListAll returns every object in a namespace, of all kinds that can be deleted, each once and sorted by reference.
// Kinds that cannot be deleted are views of others. A registered API that does not answer is an error, because what it
// has in the namespace is not known.
func (c *Cluster) ListAll(ctx context.Context, namespace string) ([]*unstructured.Unstructured, error) {
	kinds, err := c.namespacedKinds(ctx)
	if err != nil {
		return nil, fmt.Errorf("looking into namespace %q: %w", namespace, err)
	}
	var all []*unstructured.Unstructured
	seen := map[types.UID]bool{} // two groups serve Events
	for _, kind := range kinds {
		at := kube.At{GroupVersionResource: kind, Namespace: namespace}
		found, err := kube.List[unstructured.Unstructured](ctx, c.api, at, kube.Selector{})
		if kube.IsMissing(err) || errors.IsMethodNotSupported(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("looking into namespace %q: listing %s: %w", namespace, kind.GroupResource(), err)
		}
		for i := range found {
			if uid := found[i].GetUID(); !seen[uid] {
				seen[uid] = true
				all = append(all, &found[i])
			}
		}
	}
	slices.SortFunc(all, func(a, b *unstructured.Unstructured) int { return RefOf(a).Compare(RefOf(b)) })
	return all, nil
}

// namespacedKinds asks the server every time.
func (c *Cluster) namespacedKinds(ctx context.Context) ([]schema.GroupVersionResource, error) {
	began := time.Now()
	var groups []*metav1.APIResourceList
	err := kube.Retry(ctx, kube.Pause, func() (err error) {
		groups, err = discovery.ServerPreferredNamespacedResources(c.apis)
		return err
	}, func(error) bool { return time.Since(began) < discoveryGrace })
	if err != nil {
		return nil, c.api.Explain(err)
	}
	var kinds []schema.GroupVersionResource
	for _, group := range groups {
		gv, err := schema.ParseGroupVersion(group.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range group.APIResources {
			if slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "delete") {
				kinds = append(kinds, gv.WithResource(r.Name))
			}
		}
	}
	return kinds, nil
}

// Serves reports whether the server has a kind.
func (c *Cluster) Serves(kind schema.GroupKind) bool {
	_, err := c.at(Ref{Group: kind.Group, Kind: kind.Kind})
	return err == nil
}
