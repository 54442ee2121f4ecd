//go:build e2e

package cluster

import (
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// everything lists every object of a cluster as "RESOURCE.GROUP NAMESPACE/NAME" -> resourceVersion, except what changes
// by itself: Events, Leases, EndpointSlices and the Endpoints behind them.
func everything(t *testing.T, cfg *rest.Config) map[string]string {
	t.Helper()
	apis, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := dynamic.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := apis.ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, group := range groups {
		gv, err := schema.ParseGroupVersion(group.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range group.APIResources {
			if !slices.Contains(r.Verbs, "list") || slices.Contains([]string{
				"events", "leases", "endpointslices", "endpoints", "componentstatuses"}, r.Name) {
				continue
			}
			list, err := objects.Resource(gv.WithResource(r.Name)).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatalf("listing %s: %v", r.Name, err)
			}
			for _, o := range list.Items {
				all[strings.TrimSuffix(r.Name+"."+gv.Group, ".")+" "+o.GetNamespace()+"/"+o.GetName()] = o.GetResourceVersion()
			}
		}
	}
	return all
}

// difference names what is in a and not in b, sorted.
func difference(a, b map[string]string) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if _, ok := b[name]; !ok {
			names = append(names, name)
		}
	}
	return names
}
