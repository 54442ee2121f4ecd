package bootstrap

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
	"bflow.dev/bflow/tasks/contract"
)

// origin is whose an object is. What belongs to several is of the last of them.
type origin int

const (
	ofCluster      origin = iota // Kubernetes or OpenShift made it, or its owner is gone: it goes by itself
	ofInstallation               // bootstrap made it, or what bootstrap made did
	ofRuns                       // a run or what belongs to one
	ofOthers
)

// origins tells whose objects are. It remembers what it has found out, so it serves one look at a cluster.
type origins struct {
	cluster *apply.Cluster
	listed  map[apply.Ref]bool // in the inventory
	known   map[types.UID]origin
}

func (h *Hub) origins(inv Inventory) *origins {
	o := &origins{cluster: h.cluster, listed: map[apply.Ref]bool{}, known: map[types.UID]origin{}}
	for _, entries := range inv.Parts {
		for _, e := range entries {
			o.listed[e.Ref] = true
		}
	}
	return o
}

// of is the origin of an object: by its name and labels where they tell, else that of its owners.
func (w *origins) of(ctx context.Context, u *unstructured.Unstructured) (origin, error) {
	labels := u.GetLabels()
	switch {
	case w.listed[apply.RefOf(u)] || labels[contract.LabelPart] != "":
		return ofInstallation, nil
	case labels[contract.LabelManagedBy] == contract.ManagedBy, labels[contract.LabelPlanHash] != "",
		labels[contract.LabelRun] != "", labels[labelTektonPipeline] == contract.Experiment:
		return ofRuns, nil
	case isClusters(u):
		return ofCluster, nil
	case len(u.GetOwnerReferences()) == 0:
		return ofOthers, nil
	}
	last := ofCluster
	for _, owner := range u.GetOwnerReferences() {
		whose, err := w.ofOwner(ctx, u.GetNamespace(), owner)
		if err != nil {
			return ofOthers, err
		}
		last = max(last, whose)
	}
	return last, nil
}

// labelTektonPipeline is written by Tekton on whoever runs a Pipeline.
const labelTektonPipeline = "tekton.dev/pipeline"

func (w *origins) ofOwner(ctx context.Context, namespace string, owner metav1.OwnerReference) (origin, error) {
	if whose, known := w.known[owner.UID]; known {
		return whose, nil
	}
	kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind()
	u, err := w.cluster.Get(ctx, apply.Ref{Group: kind.Group, Kind: kind.Kind, Namespace: namespace, Name: owner.Name})
	if err != nil {
		return ofOthers, err
	}
	whose := ofCluster
	switch {
	case u != nil && u.GetUID() == owner.UID:
		w.known[owner.UID] = ofOthers // owners that own each other
		if whose, err = w.of(ctx, u); err != nil {
			return ofOthers, err
		}
	case u == nil && !isUpstreams(kind) && !w.cluster.Serves(kind):
		whose = ofOthers // nobody collects what the objects of a lost kind owned
	}
	w.known[owner.UID] = whose
	return whose, nil
}

// isUpstreams tells whether a kind is of Tekton or Kueue, whose objects an uninstallation may have deleted with it.
func isUpstreams(kind schema.GroupKind) bool {
	return kind.Group == kueueGroup || kind.Group == tektonGroup || strings.HasSuffix(kind.Group, "."+tektonGroup)
}

const tektonGroup = "tekton.dev"

// isClusters tells whether Kubernetes or OpenShift keeps an object in every namespace, or makes it by itself.
func isClusters(u *unstructured.Unstructured) bool {
	name := u.GetName()
	switch u.GetKind() {
	case "Event", "Lease", "Endpoints": // the last are of a Service, which is looked at itself
		return true
	case "ConfigMap":
		return slices.Contains([]string{"kube-root-ca.crt", "openshift-service-ca.crt"}, name)
	case "ServiceAccount":
		return slices.Contains([]string{"default", "builder", "deployer"}, name)
	case "RoleBinding":
		return slices.Contains([]string{"system:deployers", "system:image-builders", "system:image-pullers"}, name)
	case "Secret": // a token goes with its account
		notes := u.GetAnnotations()
		return notes["kubernetes.io/service-account.name"] != "" || notes["openshift.io/internal-registry-auth-token.service-account"] != ""
	case "ClusterServiceVersion":
		return u.GetLabels()["olm.copiedFrom"] != ""
	}
	return false
}

// content is what a namespace holds beside what Kubernetes and bootstrap put there.
type content struct{ results, others []*unstructured.Unstructured }

// contentOf looks at every kind of object that there is.
func (h *Hub) contentOf(ctx context.Context, namespace string, whose *origins) (content, error) {
	var c content
	all, err := h.cluster.Within(ctx, namespace)
	if err != nil {
		return c, err
	}
	for _, u := range all {
		origin, err := whose.of(ctx, u)
		switch {
		case err != nil:
			return c, fmt.Errorf("looking into namespace %q: %w", namespace, err)
		case origin == ofRuns:
			c.results = append(c.results, u)
		case origin == ofOthers:
			c.others = append(c.others, u)
		}
	}
	return c, nil
}

// stays says why a namespace is not deleted, "" where nothing is lost with it. Results may go where drop says so.
func (c content) stays(drop bool) string {
	var why []string
	if len(c.others) > 0 {
		why = append(why, "others have objects in it: "+namesOf(c.others))
	}
	if len(c.results) > 0 && !drop {
		why = append(why, "it holds data of runs")
	}
	return strings.Join(why, "; ")
}

// namesOf names objects, those first that no other of them owns: Secret "a", ConfigMap "b" and 3 more.
func namesOf(all []*unstructured.Unstructured) string {
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
