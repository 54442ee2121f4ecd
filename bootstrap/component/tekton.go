package component

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/version"

	"bflow.dev/bflow/bootstrap/detect"
	"bflow.dev/bflow/bootstrap/upstream"
	"bflow.dev/bflow/internal/kube"
)

// oldestTekton serves everything that our Pipelines use.
const oldestTekton = "v1.0.0"

// Tekton is Tekton Pipelines, which executes runs.
type Tekton struct{ Install detect.Install }

// Definition names it.
func (*Tekton) Definition() Definition {
	return Definition{Name: "Tekton", Part: "tekton", Version: upstream.TektonVersion}
}

// Installed says who has installed it.
func (t *Tekton) Installed() detect.Install { return t.Install }

// Check wants a version that serves what runs use.
func (t *Tekton) Check() ([]string, error) {
	return nil, requireVersion("Tekton", t.Install.Version, oldestTekton)
}

// requireVersion compares versions; one that is not known is taken as good.
func requireVersion(name, have, oldest string) error {
	v, err := version.ParseGeneric(have)
	if err != nil || v.AtLeast(version.MustParseGeneric(oldest)) {
		return nil
	}
	return fmt.Errorf("%s %s is older than %s; upgrade it", name, have, oldest)
}

// Detect looks for Tekton Pipelines of any distribution.
func (t *Tekton) Detect(ctx context.Context, c detect.Cluster, api detect.API) error {
	t.Install = detect.Install{}
	if !api.Serves("tekton.dev/v1", "pipelineruns") {
		return nil
	}
	i, err := c.Controller(ctx, "tekton-pipelines-controller")
	t.Install = i
	if err != nil || i.Namespace == "" {
		return err
	}
	switch {
	case i.By == detect.ByBflow:
	case strings.HasPrefix(i.Namespace, "openshift-"):
		t.Install.By = detect.ByOpenShiftPipelines
	case api.Serves("operator.tekton.dev/v1alpha1", "tektonconfigs"):
		t.Install.By = detect.ByTektonOperator
	}
	// Tekton keeps this ConfigMap for clients that ask for its version; everybody may read it.
	info, err := c.Get(ctx, kube.Core("configmaps", i.Namespace, "pipelines-info"))
	if err == nil {
		if version, _, _ := unstructured.NestedString(info.Object, "data", "version"); version != "" {
			t.Install.Version = version
		}
	}
	return nil
}

// Render returns the manifests of the release.
func (*Tekton) Render(Site) (Output, error) {
	all, err := upstream.Tekton()
	probe := makeProbe("tekton.dev/v1", "Task", upstream.TektonNamespace, map[string]any{
		"params": []any{map[string]any{"name": "probe"}},
		"steps":  []any{map[string]any{"name": "probe", "image": "probe", "command": []any{"probe"}}},
	})
	return Output{Objects: all, Probe: probe, Answer: hasDefaults}, err
}

// hasDefaults is satisfied when Tekton's webhook has filled in what was left out. A run that is stored without its
// defaults could never start.
func hasDefaults(u *unstructured.Unstructured) (bool, string) {
	params, _, _ := unstructured.NestedSlice(u.Object, "spec", "params")
	for _, p := range params {
		if param, ok := p.(map[string]any); ok && param["type"] == "string" {
			return true, ""
		}
	}
	return false, "Tekton's webhook does not fill in defaults yet"
}

// makeProbe returns an object for a dry run.
func makeProbe(version, kind, namespace string, spec map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind, "spec": spec}}
	u.SetNamespace(namespace)
	u.SetName("bflow-probe")
	return u
}
