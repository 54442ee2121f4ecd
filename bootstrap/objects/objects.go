// Package objects builds bflow's own objects for an installation: the overlays, rendered in memory, and the settings
// of the call. It must not connect to a cluster or contain YAML.
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

// DefaultNamespace is where runs live when nobody says otherwise.
const DefaultNamespace = "benchflow"

// DefaultImage is the image of the controller without its tag: built here and loaded into a node.
const DefaultImage = "localhost/bflow/bflow-controller"

// DefaultClient is that of bflow itself, beside a controller whose image is named in another way than bflow's own.
const DefaultClient = "localhost/bflow/bflow"

// Config is what the objects depend on besides the overlays. The zero value is ready to use.
type Config struct {
	Overlay    string   // "" = Vanilla
	Version    string   // of bflow: label of every object, and tag of an image that is not named
	Image      string   // of the controller, by tag or digest; "" = DefaultImage with Version
	Client     string   // image of bflow, for the task of Pipeline bflow-experiment; "" = beside Image, by Version
	Namespaces []string // where runs live; none = DefaultNamespace
	Flags      []string // more of the controller

	From func(image string) string // where the cluster pulls an image from; nil = from its own registry

	Hub       string            // identity of the cluster, the UID of namespace kube-system; "" leaves ConfigMap bflow-hub out
	LoadNodes map[string]string // node selector of task pods; empty = anywhere
	LoadCPU   string            // cores that a load generator asks for; "" = what its Task says

	Pieces []Piece // of components
}

// Piece is what a component adds to the objects of bflow. The zero value adds nothing.
type Piece struct {
	Folder    string                       // of overlays/components, rendered with the overlay; "" = none
	Objects   []*unstructured.Unstructured // beside those of the overlays; they get the labels of bflow, and what lies in DefaultNamespace comes for every namespace of runs
	Arguments []string                     // more arguments of the controller

	// Edit changes a rendered object in place, or leaves it out where keep is false; nil changes none.
	Edit func(*unstructured.Unstructured) (keep bool, err error)
}

// Objects returns every object of ours, namespaces first, in an order that depends on nothing but c. ClusterQueue
// local comes without spec.resourceGroups: the capacity controller is the only writer of that field.
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

// rank sorts what others lie in before what lies there.
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

// hubConfigMap tells steps and clients beside the runs which cluster this is, and what bootstrap found out about it.
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

// labelAsOurs gives an object the labels of what bflow installs.
func labelAsOurs(o *unstructured.Unstructured, version string) {
	AddLabels(o, map[string]string{labelPartOf: partOf, contract.LabelManagedBy: contract.ManagedBy, labelVersion: labelValue(version)})
}

// imagePrefix is where the other images are: beside that of the controller. One that is named otherwise tells nothing.
func imagePrefix(image string) string {
	name := imageOf(image).NewName
	if dir, ok := strings.CutSuffix(name, "/"+contract.AccountController); ok {
		return dir
	}
	return ""
}

// platformName is in the words of bflow compile --platform.
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
