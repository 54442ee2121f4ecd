package bootstrap

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/bootstrap/apply"
	"bflow.dev/bflow/bootstrap/detect"
	"bflow.dev/bflow/bootstrap/mirror"
	"bflow.dev/bflow/bootstrap/objects"
	"bflow.dev/bflow/bootstrap/upstream"
	"bflow.dev/bflow/runplan/contract"
)

// Parts of an installation: keys of the inventory and values of label contract.LabelPart.
const (
	partTekton = "tekton"
	partKueue  = "kueue"
	partBflow  = contract.PartBflow
)

// Component is a set of objects that is installed as a unit.
type Component struct {
	Name, Version string
	Part          string
	Objects       []*unstructured.Unstructured
	Probe         *unstructured.Unstructured // never created: the answer to its dry run proves that the webhooks work
	Answer        apply.Condition            // of Probe; nil accepts any answer
}

// components are what is to be on the cluster, in the order of installation. What somebody else has installed is not
// among them, unless the options say to take it.
func components(o Options, f detect.Found, inv Inventory) ([]Component, error) {
	var all []Component
	if _, foreign := keep(partTekton, f.Tekton, o, inv); !foreign {
		c, err := tekton()
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	if _, foreign := keep(partKueue, f.Kueue.Install, o, inv); !foreign {
		c, err := kueue()
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	c, err := ours(o, f)
	if err != nil {
		return nil, err
	}
	all = append(all, c)
	for _, name := range slices.Sorted(maps.Keys(o.Targets)) {
		all = append(all, queueOf(name, o))
	}
	for i := range all {
		if all[i].Part != partBflow { // whose objects also tell where images are
			all[i].Objects = pinned(mirror.Mirror{Registry: o.Registry, Map: o.ImageMap}.Rewrite(all[i].Objects), o.Digests)
		}
		if f.Platform.IsOpenShift() {
			withoutUsers(all[i].Objects)
		}
		for _, object := range all[i].Objects {
			own(object, all[i].Part)
		}
	}
	return all, nil
}

// withoutUsers takes users and groups out of pod templates: OpenShift assigns them, and refuses those of upstream.
func withoutUsers(all []*unstructured.Unstructured) {
	for _, o := range all {
		pod, found, _ := unstructured.NestedMap(o.Object, "spec", "template", "spec")
		if !found || o.GroupVersionKind().Group != "apps" {
			continue
		}
		contexts := []any{pod["securityContext"]}
		for _, field := range []string{"containers", "initContainers"} {
			containers, _ := pod[field].([]any)
			for _, c := range containers {
				container, _ := c.(map[string]any)
				contexts = append(contexts, container["securityContext"])
			}
		}
		for _, c := range contexts {
			context, _ := c.(map[string]any)
			for _, field := range []string{"runAsUser", "runAsGroup", "fsGroup"} {
				delete(context, field)
			}
		}
		if err := unstructured.SetNestedMap(o.Object, pod, "spec", "template", "spec"); err != nil {
			continue // it was found there
		}
	}
}

// keep tells whether a component belongs to somebody else, and who that is. What stands in our inventory is ours, also
// when its installation was cut off before anything ran.
func keep(part string, found detect.Install, o Options, inv Inventory) (by string, foreign bool) {
	return found.By, found.Foreign() && !o.Adopt && len(inv.Parts[part]) == 0
}

func tekton() (Component, error) {
	all, err := upstream.Tekton()
	probe := object("tekton.dev/v1", "Task", upstream.TektonNamespace, map[string]any{
		"params": []any{map[string]any{"name": "probe"}},
		"steps":  []any{map[string]any{"name": "probe", "image": "probe", "command": []any{"probe"}}},
	})
	return Component{Name: "Tekton", Version: upstream.TektonVersion, Part: partTekton, Objects: all, Probe: probe, Answer: defaulted}, err
}

// defaulted is satisfied when Tekton's webhook has filled in what was left out. A run that is stored without its
// defaults could never be let start.
func defaulted(u *unstructured.Unstructured) (bool, string) {
	params, _, _ := unstructured.NestedSlice(u.Object, "spec", "params")
	for _, p := range params {
		if param, ok := p.(map[string]any); ok && param["type"] == "string" {
			return true, ""
		}
	}
	return false, "Tekton's webhook does not fill in defaults yet"
}

func kueue() (Component, error) {
	all, err := upstream.Kueue()
	probe := object("kueue.x-k8s.io/v1beta2", "ResourceFlavor", "", map[string]any{})
	return Component{Name: "Kueue", Version: upstream.KueueVersion, Part: partKueue, Objects: all, Probe: probe}, err
}

// thanos asks the Prometheus servers of an OpenShift. Its certificate is of the authority that pods there know.
const thanos = "https://thanos-querier.openshift-monitoring.svc.cluster.local:9091"

func ours(o Options, f detect.Found) (Component, error) {
	overlay := o.Overlay
	if overlay == "" && f.Platform.IsOpenShift() {
		overlay = objects.OpenShift
	}
	nodes := o.LoadNodes
	if nodes == nil {
		nodes = f.Nodes.LoadNodes
	}
	dashboard := ""
	switch {
	case f.Monitoring.Grafana:
		dashboard = objects.DashboardOperator
	case f.Monitoring.Prometheus:
		dashboard = objects.DashboardConfigMap
	}
	images := mirror.Mirror{Registry: o.Registry, Map: o.ImageMap}
	if o.Image != "" {
		images.Registry = "" // whoever names an image means it
	}
	servers := o.Prometheus
	if servers == nil && f.Platform.IsOpenShift() {
		servers = []contract.PrometheusServer{{URL: thanos}}
	}
	all, err := objects.Objects(objects.Config{
		Overlay: overlay, Version: o.Version, Image: o.Image, Client: o.Client, From: images.Image, Namespaces: o.Namespaces, Hub: f.Platform.Hub, LoadNodes: nodes,
		Prebuilt: f.Kueue.ManagesPods() && f.Kueue.Foreign(), Prometheus: f.Monitoring.Prometheus, PrometheusLabels: f.Monitoring.Labels, Dashboard: dashboard,
		Triggers: f.Triggers.Present, LoadCPU: f.Nodes.LoadCPU, Flags: o.Controller, Replicas: o.Replicas, Servers: servers, DevicePods: o.DevicePods,
		NetworkPolicies: o.NetworkPolicies != nil && *o.NetworkPolicies,
	})
	if err != nil {
		return Component{}, err
	}
	return Component{Name: "bflow", Version: o.Version, Part: partBflow, Objects: all}, nil
}

// partTarget is the part of an installation that one target is at the hub.
func partTarget(name string) string { return "target-" + name }

// queueOf is what the hub has for a target, beside the Secret with the way to it.
func queueOf(name string, o Options) Component {
	t := objects.Target{Name: name, Labels: o.Targets[name].Labels, Namespaces: o.Targets[name].Namespaces, Version: o.Version}
	if len(t.Namespaces) == 0 {
		t.Namespaces = o.Namespaces
	}
	return Component{Name: fmt.Sprintf("target %q", name), Version: o.Version, Part: partTarget(name), Objects: t.Queue()}
}

func object(version, kind, namespace string, spec map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind, "spec": spec}}
	u.SetNamespace(namespace)
	u.SetName("bflow-probe")
	return u
}

// own writes the labels by which an object of ours is known.
func own(u *unstructured.Unstructured, part string) {
	labels := maps.Clone(u.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	labels[contract.LabelManagedBy] = contract.ManagedBy
	labels[contract.LabelPart] = part
	u.SetLabels(labels)
}
