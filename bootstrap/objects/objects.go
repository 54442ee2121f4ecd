// Package objects renders the objects of bflow that bootstrap puts on a cluster: the overlays, the pieces of
// components, and what depends on the call. It must not speak to a cluster, nor hold YAML.
package objects

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"bflow.dev/bflow/runplan/contract"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Overlays that Config may name: folders of package overlays.
const (
	Vanilla   = "vanilla"
	OpenShift = "openshift"
	AirGapped = "air-gapped"
	Dev       = "dev"
)

// DefaultNamespace is the namespace of runs if none is named.
const DefaultNamespace = "benchflow"

// DefaultImage is the image of the controller without its tag, as it is built here and loaded into a node.
const DefaultImage = "localhost/bflow/bflow-controller"

// DefaultClient is the image of bflow itself, if that of the controller has a name of its own.
const DefaultClient = "localhost/bflow/bflow"

// Config is what the objects depend on other than the overlays. The zero value is ready to use.
type Config struct {
	Overlay string // "" = Vanilla
	Version string // of bflow: label of every object, and tag of images that are not named
	Image   string // of the controller, by tag or digest; "" = DefaultImage with Version
	// image of bflow, for the task of Pipeline bflow-experiment; "" = in the folder of Image, by Version
	Client     string
	Namespaces []string // of runs; none = DefaultNamespace
	Flags      []string // more flags of the controller

	From func(image string) string // name under which the cluster pulls an image; nil = its own

	// identity of the cluster, the UID of namespace kube-system; "" leaves ConfigMap bflow-hub out
	Hub       string
	LoadNodes map[string]string // node selector of task pods; empty = anywhere
	LoadCPU   string            // cores that a load generator requests; "" = as its Task says

	Pieces []Piece // of components
}

// Piece is what a component adds to the objects of bflow. The zero value adds nothing.
type Piece struct {
	Folder string // of overlays/components, rendered with the overlay; "" = none
	// beside those of the overlays, without labels; those in DefaultNamespace are copied per namespace
	Objects   []*unstructured.Unstructured
	Arguments []string // more arguments of the controller

	// Edit changes a rendered object in place, or leaves it out where keep is false; nil changes none.
	Edit func(*unstructured.Unstructured) (keep bool, err error)
}

// Objects returns all objects, namespaces first, in an order that depends on nothing but c. ClusterQueue local has no
// spec.resourceGroups: only the capacity controller writes that field.
func Objects(c Config) ([]*unstructured.Unstructured, error) {
	c = c.withDefaults()
	rendered, err := render(kustomization(c))
	if err != nil {
		return nil, fmt.Errorf("rendering overlay %q: %w", c.Overlay, err)
	}
	var all []*unstructured.Unstructured
	for _, o := range rendered {
		keep, err := editObject(o, c)
		if err != nil {
			return nil, err
		}
		if keep {
			all = append(all, perNamespace(o, c.Namespaces)...)
		}
	}
	for _, namespace := range c.Namespaces {
		starter, err := experimentObjects(c, namespace)
		if err != nil {
			return nil, err
		}
		all = append(all, starter...)
		if c.Hub != "" {
			all = append(all, hubConfigMap(c, namespace))
		}
	}
	for _, p := range c.Pieces {
		for _, o := range p.Objects {
			o = o.DeepCopy()
			labelAsOurs(o, c.Version)
			all = append(all, perNamespace(o, c.Namespaces)...)
		}
	}
	slices.SortStableFunc(all, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
	return all, nil
}

func (c Config) withDefaults() Config {
	if c.Overlay == "" {
		c.Overlay = Vanilla
	}
	if c.Version == "" {
		c.Version = "dev"
	}
	if c.Image == "" {
		c.Image = DefaultImage + ":" + labelValue(c.Version)
	}
	if c.Client == "" {
		c.Client = clientImage(c.Image, c.Version)
	}
	if c.From != nil {
		c.Image, c.Client = c.From(c.Image), c.From(c.Client)
	}
	if len(c.Namespaces) == 0 {
		c.Namespaces = []string{DefaultNamespace}
	}
	return c
}

// editObject lets the components change an object, and gives the controller its arguments.
func editObject(o *unstructured.Unstructured, c Config) (keep bool, err error) {
	for _, p := range c.Pieces {
		if p.Edit == nil {
			continue
		}
		if keep, err := p.Edit(o); err != nil || !keep {
			return false, err
		}
	}
	if !IsController(o) {
		return true, nil
	}
	return true, addArguments(o, c)
}

// IsController reports whether an object is the Deployment of the controller.
func IsController(o *unstructured.Unstructured) bool {
	return o.GetKind() == "Deployment" && o.GetName() == contract.AccountController
}

// addArguments gives the controller the arguments of components, then those that whoever installs asked for.
func addArguments(deployment *unstructured.Unstructured, c Config) error {
	containers, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if len(containers) == 0 {
		return fmt.Errorf("reading Deployment %q: it has no containers", deployment.GetName())
	}
	container, _ := containers[0].(map[string]any)
	args, _, _ := unstructured.NestedStringSlice(container, "args")
	for _, p := range c.Pieces {
		args = append(args, p.Arguments...)
	}
	args = append(args, c.Flags...)
	if err := unstructured.SetNestedStringSlice(container, args, "args"); err != nil {
		return fmt.Errorf("writing the arguments of Deployment %q: %w", deployment.GetName(), err)
	}
	return unstructured.SetNestedSlice(deployment.Object, containers, "spec", "template", "spec", "containers")
}

// rank sorts namespaces and accounts before the objects that need them.
func rank(o *unstructured.Unstructured) int {
	switch o.GetKind() {
	case "Namespace":
		return 0
	case "ServiceAccount", "ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding", "ConfigMap":
		return 1
	case "Deployment":
		return 3
	default:
		return 2
	}
}

// hubConfigMap returns the ConfigMap from which steps and clients learn which cluster this is, and what bootstrap has
// detected.
func hubConfigMap(c Config, namespace string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": contract.ConfigMapHub, "namespace": namespace},
		"data": map[string]any{
			contract.HubKey:       c.Hub,
			contract.HubPlatform:  platformName(c.Overlay),
			contract.HubLoadNodes: formatLabels(c.LoadNodes),
			contract.HubLoadCPU:   c.LoadCPU,
			contract.HubImages:    imagePrefix(c.Image),
		},
	}}
	labelAsOurs(o, c.Version)
	return o
}

// labelAsOurs sets the labels of everything that bflow installs.
func labelAsOurs(o *unstructured.Unstructured, version string) {
	AddLabels(o, map[string]string{labelPartOf: partOf, contract.LabelManagedBy: contract.ManagedBy,
		labelVersion: labelValue(version)})
}

// imagePrefix returns the registry and folder of the controller's image, where the other images are too, "" if it has
// a name of its own.
func imagePrefix(image string) string {
	name := imageOf(image).NewName
	if dir, ok := strings.CutSuffix(name, "/"+contract.AccountController); ok {
		return dir
	}
	return ""
}

// platformName returns the platform as bflow compile --platform names it.
func platformName(overlay string) string {
	if overlay == OpenShift {
		return "openshift"
	}
	return "kubernetes"
}

// AddLabels gives an object more labels.
func AddLabels(o *unstructured.Unstructured, more map[string]string) {
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, more)
	o.SetLabels(labels)
}
