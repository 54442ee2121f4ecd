// Package objects builds bflow's own objects for an installation: the overlays, rendered in memory, and the settings
// of the call. It must not connect to a cluster or contain YAML.
package objects

import (
	"encoding/json"
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

// Ways to bring the dashboard into Grafana.
const (
	DashboardConfigMap = "dashboard"        // a ConfigMap that the sidecar of Grafana's chart finds by its label
	DashboardOperator  = "grafana-operator" // that ConfigMap, named by a GrafanaDashboard
)

// Who may make pods that ask for devices in namespaces of runs.
const (
	DevicesOfRuns   = "bflow"
	DevicesOfAnyone = "anyone"
)

// devicesPolicy is the name of the ValidatingAdmissionPolicy that keeps others from it, and of its binding.
const devicesPolicy = "bflow-devices"

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
	Prebuilt   bool     // Kueue manages pods, so the controller makes the Workloads of runs itself
	Flags      []string // more of the controller
	DevicePods string   // who makes pods that ask for devices where runs live: DevicesOfRuns or DevicesOfAnyone; "" = the first
	Replicas   int      // of the controller; 0 = one

	From func(image string) string // where the cluster pulls an image from; nil = from its own registry

	Hub       string            // identity of the cluster, the UID of namespace kube-system; "" leaves ConfigMap bflow-hub out
	LoadNodes map[string]string // node selector of task pods; empty = anywhere
	LoadCPU   string            // cores that a load generator asks for; "" = what its Task says

	Prometheus       bool              // PrometheusRule and PodMonitor
	PrometheusLabels map[string]string // that the operator's Prometheus selects these two by
	Dashboard        string            // DashboardConfigMap, DashboardOperator or "" for none

	Servers []contract.PrometheusServer // that get a token

	NetworkPolicies bool // who may talk to whom

	Triggers bool // an EventListener per namespace, and what it may
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
		if c.DevicePods == DevicesOfAnyone && o.GetName() == devicesPolicy {
			continue
		}
		if c.Prometheus && o.GroupVersionKind().Group == groupPrometheus {
			addLabels(o, c.PrometheusLabels)
		}
		if o.GetKind() == "Deployment" && o.GetName() == contract.AccountController {
			if err := arguments(o, c); err != nil {
				return nil, err
			}
		}
		all = append(all, perNamespace(o, c.Namespaces)...)
	}
	for _, namespace := range c.Namespaces {
		starter, err := experiment(c, namespace)
		if err != nil {
			return nil, err
		}
		all = append(all, starter...)
		if c.Hub != "" {
			all = append(all, hub(c, namespace))
		}
	}
	if len(c.Servers) > 0 {
		list, err := servers(c)
		if err != nil {
			return nil, err
		}
		all = append(all, list)
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
		c.Client = client(c.Image, c.Version)
	}
	if c.From != nil {
		c.Image, c.Client = c.From(c.Image), c.From(c.Client)
	}
	if len(c.Namespaces) == 0 {
		c.Namespaces = []string{DefaultNamespace}
	}
	return c
}

// arguments tells the controller what Kueue does beside it, and what else is wished.
func arguments(deployment *unstructured.Unstructured, c Config) error {
	containers, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if len(containers) == 0 {
		return fmt.Errorf("reading Deployment %q: it has no containers", deployment.GetName())
	}
	container, _ := containers[0].(map[string]any)
	args, _, _ := unstructured.NestedStringSlice(container, "args")
	if c.Prebuilt {
		args = append(args, "--prebuilt-workloads")
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

// hub tells steps and clients beside the runs which cluster this is, and what bootstrap found out about it.
func hub(c Config, namespace string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": contract.ConfigMapHub, "namespace": namespace},
		"data": map[string]any{
			contract.HubKey:       c.Hub,
			contract.HubPlatform:  platform(c.Overlay),
			contract.HubLoadNodes: selector(c.LoadNodes),
			contract.HubLoadCPU:   c.LoadCPU,
			contract.HubImages:    prefix(c.Image),
		},
	}}
	o.SetLabels(map[string]string{labelPartOf: partOf, contract.LabelManagedBy: contract.ManagedBy, labelVersion: labelValue(c.Version)})
	return o
}

// servers lists for the controller which Prometheus servers get a token.
func servers(c Config) (*unstructured.Unstructured, error) {
	text, err := json.MarshalIndent(c.Servers, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the list of Prometheus servers: %w", err)
	}
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": contract.ConfigMapPrometheus, "namespace": contract.NamespaceSystem},
		"data":     map[string]any{contract.PrometheusKey: string(text)},
	}}
	o.SetLabels(map[string]string{labelPartOf: partOf, contract.LabelManagedBy: contract.ManagedBy, labelVersion: labelValue(c.Version)})
	return o, nil
}

// prefix is where the other images are: beside that of the controller. One that is named otherwise tells nothing.
func prefix(image string) string {
	name := imageOf(image).NewName
	if dir, ok := strings.CutSuffix(name, "/"+contract.AccountController); ok {
		return dir
	}
	return ""
}

// platform is in the words of bflow compile --platform.
func platform(overlay string) string {
	if overlay == OpenShift {
		return "openshift"
	}
	return "kubernetes"
}

func addLabels(o *unstructured.Unstructured, more map[string]string) {
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, more)
	o.SetLabels(labels)
}
