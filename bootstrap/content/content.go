package content

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"bflow.dev/bflow/bootstrap/apply"
)

// Origin is who owns an object. An object with several owners has the last of their origins in the order below.
type Origin int

// Origins of objects.
const (
	OfCluster      Origin = iota // made by Kubernetes or OpenShift, or without its owner: it is deleted by itself
	OfInstallation               // made by bootstrap, or by an object of it
	OfRuns                       // a run, or what belongs to one
	OfOthers
)

// Origins finds the origins of objects. It remembers those it has found, so use a new one for each look at a cluster.
type Origins struct {
	cluster *apply.Cluster
	ours    func(*unstructured.Unstructured) (Origin, bool)
	known   map[types.UID]Origin
}

// NewOrigins returns the origins of objects on a cluster. ours recognizes objects of bflow by name and labels, and
// returns false for all others.
func NewOrigins(cluster *apply.Cluster, ours func(*unstructured.Unstructured) (Origin, bool)) *Origins {
	return &Origins{cluster: cluster, ours: ours, known: map[types.UID]Origin{}}
}

// Of returns the origin of an object: by its name and labels, else by its owners.
func (w *Origins) Of(ctx context.Context, u *unstructured.Unstructured) (Origin, error) {
	if whose, known := w.ours(u); known {
		return whose, nil
	}
	if isOfCluster(u) {
		return OfCluster, nil
	}
	if len(u.GetOwnerReferences()) == 0 {
		return OfOthers, nil
	}
	last := OfCluster
	for _, owner := range u.GetOwnerReferences() {
		whose, err := w.ofOwner(ctx, u.GetNamespace(), owner)
		if err != nil {
			return OfOthers, err
		}
		last = max(last, whose)
	}
	return last, nil
}

func (w *Origins) ofOwner(ctx context.Context, namespace string, owner metav1.OwnerReference) (Origin, error) {
	if whose, known := w.known[owner.UID]; known {
		return whose, nil
	}
	kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind()
	u, err := w.cluster.Get(ctx, apply.Ref{Group: kind.Group, Kind: kind.Kind, Namespace: namespace, Name: owner.Name})
	if err != nil {
		return OfOthers, err
	}
	whose := OfCluster
	switch {
	case u != nil && u.GetUID() == owner.UID:
		w.known[owner.UID] = OfOthers // ends the recursion where objects own each other
		if whose, err = w.Of(ctx, u); err != nil {
			return OfOthers, err
		}
	case u == nil && !isOfUpstream(kind) && !w.cluster.Serves(kind):
		whose = OfOthers // the garbage collector leaves what the objects of an unserved kind owned
	}
	w.known[owner.UID] = whose
	return whose, nil
}

// isOfUpstream reports whether a kind is of Tekton or Kueue: an uninstallation may have deleted its objects with it.
func isOfUpstream(kind schema.GroupKind) bool {
	const kueue, tekton = "kueue.x-k8s.io", "tekton.dev"
	return kind.Group == kueue || kind.Group == tekton || strings.HasSuffix(kind.Group, "."+tekton)
}

// isOfCluster reports whether Kubernetes or OpenShift keeps such an object in every namespace, or creates it by
// itself.
func isOfCluster(u *unstructured.Unstructured) bool {
	name := u.GetName()
	switch u.GetKind() {
	case "Event", "Lease", "Endpoints": // Endpoints belong to a Service, which is judged itself
		return true
	case "ConfigMap":
		return slices.Contains([]string{"kube-root-ca.crt", "openshift-service-ca.crt"}, name)
	case "ServiceAccount":
		return slices.Contains([]string{"default", "builder", "deployer"}, name)
	case "RoleBinding":
		return slices.Contains([]string{"system:deployers", "system:image-builders", "system:image-pullers"}, name)
	case "Secret": // a token is deleted with its account
		notes := u.GetAnnotations()
		return notes["kubernetes.io/service-account.name"] != "" ||
			notes["openshift.io/internal-registry-auth-token.service-account"] != ""
	case "ClusterServiceVersion":
		return u.GetLabels()["olm.copiedFrom"] != ""
	}
	return false
}

// Content is what a namespace holds other than what Kubernetes and bootstrap put there.
type Content struct{ Results, Others []*unstructured.Unstructured }

// In returns the content of a namespace, of every kind.
func (w *Origins) In(ctx context.Context, namespace string) (Content, error) {
	var c Content
	all, err := w.cluster.ListAll(ctx, namespace)
	if err != nil {
		return c, err
	}
	for _, u := range all {
		origin, err := w.Of(ctx, u)
		switch {
		case err != nil:
			return c, fmt.Errorf("looking into namespace %q: %w", namespace, err)
		case origin == OfRuns:
			c.Results = append(c.Results, u)
		case origin == OfOthers:
			c.Others = append(c.Others, u)
		}
	}
	return c, nil
}

// ReasonToStay returns why a namespace is not deleted, "" if nothing is lost with it. drop is true if results may be
// deleted.
func (c Content) ReasonToStay(drop bool) string {
	var why []string
	if len(c.Others) > 0 {
		why = append(why, "others have objects in it: "+Names(c.Others))
	}
	if len(c.Results) > 0 && !drop {
		why = append(why, "it holds data of runs: "+Names(c.Results))
	}
	return strings.Join(why, "; ")
}

// Names returns a list of objects, those without owners first, such as: Secret "a", ConfigMap "b" and 3 more.
func Names(all []*unstructured.Unstructured) string {
	const most = 5
	owned := func(u *unstructured.Unstructured) bool { return len(u.GetOwnerReferences()) > 0 }
	if roots := slices.DeleteFunc(slices.Clone(all), owned); len(roots) > 0 {
		all = roots
	}
	var names []string
	for _, u := range all[:min(len(all), most)] {
		names = append(names, fmt.Sprintf("%s %q", u.GetKind(), u.GetName()))
	}
	text := strings.Join(names, ", ")
	if more := len(all) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
