package component

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"bflow.dev/bflow/bootstrap/detect"
	"bflow.dev/bflow/bootstrap/objects"
	"bflow.dev/bflow/bootstrap/upstream"
	"bflow.dev/bflow/internal/kube"
)

// groupKueue is the API group of queues and Workloads.
const groupKueue = "kueue.x-k8s.io"

// Kueue queues runs.
type Kueue struct {
	Install    detect.Install
	Served     []string // versions of its API
	Frameworks []string // kinds of job that it manages; nil where its configuration could not be read
}

// Definition names it. Workloads go before its controller, which alone takes their finalizers off.
func (*Kueue) Definition() Definition {
	return Definition{Name: "Kueue", Part: "kueue", Version: upstream.KueueVersion, DrainFirst: true}
}

// Installed says who has installed it.
func (k *Kueue) Installed() detect.Install { return k.Install }

// ManagesPods reports whether Kueue would queue the pods of our tasks as well: runs then have no queue label, and the
// controller creates their Workloads.
func (k *Kueue) ManagesPods() bool { return slices.Contains(k.Frameworks, "pod") }

// Usable reports whether the API that our objects are written in is served.
func (k *Kueue) Usable() bool { return slices.Contains(k.Served, "v1beta2") }

// Check wants the version of the API that our queues are written in.
func (k *Kueue) Check() (notes []string, err error) {
	if !k.Usable() {
		err = fmt.Errorf("the Kueue %s there serves %v, but bflow needs v1beta2; upgrade it",
			k.Install.Version, k.Served)
	}
	if k.ManagesPods() {
		notes = append(notes,
			"its pod integration is enabled: runs have no queue label, and bflow-controller creates their Workloads")
	}
	return notes, err
}

// Detect looks for Kueue of any distribution and reads its configuration.
func (k *Kueue) Detect(ctx context.Context, c detect.Cluster, api detect.API) error {
	*k = Kueue{Served: api.Versions(groupKueue)}
	if len(k.Served) == 0 {
		return nil
	}
	var err error
	k.Install, err = c.Controller(ctx, "kueue-controller-manager")
	if err != nil || k.Install.Namespace == "" {
		return err
	}
	namespace := k.Install.Namespace
	switch {
	case k.Install.By == detect.ByBflow:
	case api.Serves("kueue.openshift.io/v1", "kueues") || strings.HasPrefix(namespace, "openshift-"):
		k.Install.By = detect.ByRedHatKueue
	case strings.HasPrefix(namespace, "redhat-ods") || strings.HasPrefix(namespace, "opendatahub"):
		k.Install.By = detect.ByOpenShiftAI
	}
	k.Frameworks, err = readFrameworks(ctx, c, namespace)
	return err
}

// readFrameworks reads the configuration of the manager. Its file name is upstream's; distributions keep it.
func readFrameworks(ctx context.Context, c detect.Cluster, namespace string) ([]string, error) {
	cm, err := c.Get(ctx, kube.Core("configmaps", namespace, "kueue-manager-config"))
	if err != nil {
		if kube.IsMissing(err) {
			return nil, nil
		}
		return nil, err
	}
	text, _, _ := unstructured.NestedString(cm.Object, "data", "controller_manager_config.yaml")
	return parseFrameworks(text)
}

func parseFrameworks(text string) ([]string, error) {
	var config struct {
		Integrations struct {
			Frameworks []string `json:"frameworks"`
		} `json:"integrations"`
	}
	if err := yaml.Unmarshal([]byte(text), &config); err != nil {
		return nil, fmt.Errorf("reading the configuration of Kueue: %w", err)
	}
	if len(config.Integrations.Frameworks) == 0 {
		return []string{"batch/job"}, nil // Kueue's own default
	}
	return config.Integrations.Frameworks, nil
}

// Render returns the manifests of the release, and what the controller has to know of a Kueue of somebody else.
func (k *Kueue) Render(Site) (Output, error) {
	all, err := upstream.Kueue()
	out := Output{Objects: all, Probe: makeProbe(groupKueue+"/v1beta2", "ResourceFlavor", "", map[string]any{})}
	if k.ManagesPods() && k.Install.Foreign() {
		out.Piece = objects.Piece{Arguments: []string{"--prebuilt-workloads"}}
	}
	return out, err
}
