package bootstrap

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/bootstrap/apply"
	"bflow.dev/bflow/bootstrap/component"
	"bflow.dev/bflow/bootstrap/detect"
	"bflow.dev/bflow/bootstrap/mirror"
	"bflow.dev/bflow/bootstrap/objects"
	"bflow.dev/bflow/runplan/contract"
)

// partBflow is the key of the part that is bflow itself.
const partBflow = contract.PartBflow

// Part is what an installation has of one component, or of one target. It is installed and removed as a whole.
type Part struct {
	Key           string // in the inventory, and value of label contract.LabelPart
	Name, Version string
	Objects       []*unstructured.Unstructured
	Ready         apply.Condition            // of each object
	Probe         *unstructured.Unstructured // sent as a dry run only: the answer proves that the webhooks work
	Answer        apply.Condition            // of Probe; nil if any answer will do
}

// render returns the parts that are to be on the cluster, in the order of installation. A component that somebody else
// has installed has none, unless it is adopted.
func render(o Options, all []component.Component, f detect.Found, inv Inventory) ([]Part, error) {
	site := o.site(f)
	var parts []Part
	for _, c := range all {
		d := c.Definition()
		out, err := c.Render(site)
		if err != nil {
			return nil, err
		}
		site.Pieces = append(site.Pieces, out.Piece)
		none := len(out.Objects) == 0 && len(inv.Parts[d.Part]) == 0
		if out.Ready == nil {
			out.Ready = apply.Ready
		}
		if _, foreign := isForeign(c, o, inv); d.Part != "" && !foreign && !none {
			parts = append(parts, Part{Key: d.Part, Name: d.Name, Version: cmp.Or(d.Version, o.Version), Objects: out.Objects,
				Ready: out.Ready, Probe: out.Probe, Answer: out.Answer})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Targets)) {
		parts = append(parts, queueOf(name, o))
	}
	for i := range parts {
		p := &parts[i]
		if p.Key != partBflow { // other objects of bflow name its images too, so Render has chosen them
			p.Objects = pinImages(mirror.Mirror{Registry: o.Registry, Map: o.ImageMap}.Rewrite(p.Objects), o.Digests)
		}
		if f.Platform.IsOpenShift() {
			removeUsers(p.Objects)
		}
		for _, object := range p.Objects {
			labelAsOurs(object, p.Key)
		}
	}
	return parts, nil
}

// site returns what components are rendered for.
func (o Options) site(f detect.Found) component.Site {
	return component.Site{Cluster: f, Version: o.Version, Namespaces: o.Namespaces, Overlay: o.Overlay, Image: o.Image,
		Client:    o.Client,
		LoadNodes: o.LoadNodes, Controller: o.Controller, Mirror: mirror.Mirror{Registry: o.Registry, Map: o.ImageMap},
		Settings: o.Components}
}

// removeUsers removes users and groups from pod templates: OpenShift assigns them, and refuses those of upstream.
func removeUsers(all []*unstructured.Unstructured) {
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
			continue // cannot happen: the field was read above
		}
	}
}

// isForeign reports whether somebody else has installed a component. What the inventory lists is ours, even if that
// installation was cut off before anything ran.
func isForeign(c component.Component, o Options, inv Inventory) (component.Existing, bool) {
	e, ok := c.(component.Existing)
	return e, ok && e.Installed().Foreign() && !o.Adopt && len(inv.Parts[c.Definition().Part]) == 0
}

// partTarget returns the key of the part of a target.
func partTarget(name string) string { return "target-" + name }

// queueOf returns the objects of a target on the hub, except the Secret with its credentials.
func queueOf(name string, o Options) Part {
	t := objects.Target{Name: name, Labels: o.Targets[name].Labels, Namespaces: o.Targets[name].Namespaces,
		Version: o.Version}
	if len(t.Namespaces) == 0 {
		t.Namespaces = o.Namespaces
	}
	return Part{Key: partTarget(name), Name: fmt.Sprintf("target %q", name), Version: o.Version, Objects: t.QueueObjects(),
		Ready: apply.Ready}
}

// labelAsOurs sets the labels by which objects of an installation are recognized.
func labelAsOurs(u *unstructured.Unstructured, part string) {
	labels := maps.Clone(u.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	labels[contract.LabelManagedBy] = contract.ManagedBy
	labels[contract.LabelPart] = part
	u.SetLabels(labels)
}
