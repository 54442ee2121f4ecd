package detect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Kueue is an Install and how it is configured.
type Kueue struct {
	Install
	Served     []string `json:"served,omitempty"`     // versions of its API
	Frameworks []string `json:"frameworks,omitempty"` // kinds of job that it manages; nil where its configuration could not be read
}

// groupKueue is the API group of queues and Workloads.
const groupKueue = "kueue.x-k8s.io"

// ManagesPods reports whether Kueue would queue the pods of our tasks as well: runs then carry no queue label, and
// their Workload is made for them.
func (k Kueue) ManagesPods() bool { return slices.Contains(k.Frameworks, "pod") }

// Usable reports whether the API that our objects are written in is served.
func (k Kueue) Usable() bool { return slices.Contains(k.Served, "v1beta2") }

// Kueue looks for Kueue and reads its configuration.
func (c Cluster) Kueue(ctx context.Context, api API) (Kueue, error) {
	k := Kueue{Served: api.Versions(groupKueue)}
	if len(k.Served) == 0 {
		return k, nil
	}
	var err error
	k.Install, _, err = c.install(ctx, "kueue-controller-manager")
	if err != nil || k.Namespace == "" {
		return k, err
	}
	switch {
	case k.By == ByBflow:
	case api.Serves("kueue.openshift.io/v1", "kueues") || strings.HasPrefix(k.Namespace, "openshift-"):
		k.By = ByRedHatKueue
	case strings.HasPrefix(k.Namespace, "redhat-ods") || strings.HasPrefix(k.Namespace, "opendatahub"):
		k.By = ByOpenShiftAI
	}
	k.Frameworks, err = c.frameworks(ctx, k.Namespace)
	return k, err
}

// frameworks reads the configuration of the manager. Its file name is upstream's; distributions keep it.
func (c Cluster) frameworks(ctx context.Context, namespace string) ([]string, error) {
	cm, err := c.get(ctx, core("configmaps"), namespace, "kueue-manager-config")
	if err != nil {
		if missing(err) {
			return nil, nil
		}
		return nil, err
	}
	text, _, _ := unstructured.NestedString(cm.Object, "data", "controller_manager_config.yaml")
	return frameworksOf(text)
}

func frameworksOf(text string) ([]string, error) {
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
