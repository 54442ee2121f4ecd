package platform

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/runplan"
)

// TestEveryPlatformIsWhole: what can be deployed says all that provision needs, and names kinds that the table has.
func TestEveryPlatformIsWhole(t *testing.T) {
	var names []string
	for _, p := range All() {
		if slices.Contains(names, p.Name) || p.About == "" {
			t.Errorf("platform %q is there twice, or says nothing about itself", p.Name)
		}
		names = append(names, p.Name)
		for _, kind := range p.Kinds {
			if k, ok := FindKind(kind); !ok || k.Maker != ByPlatform {
				t.Errorf("platform %s makes objects of kind %s, which is no kind of platforms in the table", p.Name, kind)
			}
		}
		if p.Objects != nil && (p.Ready == nil || len(p.PodKinds()) == 0) {
			t.Errorf("platform %s makes objects, but none that make pods, or does not say when they are ready", p.Name)
		}
		for _, m := range p.Modes {
			if same := All().InPlans(Variant{p.Name, m.Name}); All().Find(same.Platform).Mode(same.Mode).Name != same.Mode {
				t.Errorf("mode %s/%s is called %v in plans, which is no mode", p.Name, m.Name, same)
			}
		}
	}
}

func TestADeploymentIsServedByItsPlatformOrByAnEndpoint(t *testing.T) {
	for _, row := range []struct {
		name string
		d    runplan.Deployment
		want string
	}{
		{"a platform by name", runplan.Deployment{Platform: "llm-d"}, "llm-d"},
		{"none is plain Kubernetes", runplan.Deployment{}, "kubernetes"},
		{"an endpoint, whatever the profile says",
			runplan.Deployment{Platform: "llm-d", Endpoint: &runplan.Endpoint{}}, "endpoint"},
	} {
		if p, err := All().Of(&row.d); err != nil || p.Name != row.want {
			t.Errorf("%s: %v, %v", row.name, p, err)
		}
	}
	if _, err := All().Of(&runplan.Deployment{Platform: "nomad"}); err == nil ||
		err.Error() != `platform "nomad" is unknown; use one of `+strings.Join(All().Names(), ", ") {
		t.Errorf("an unknown platform: %v", err)
	}
}

func TestAnEndpointTakesNothing(t *testing.T) {
	d := &runplan.Deployment{
		Platform: "llm-d", Replicas: 2, TensorParallel: 4, Engine: runplan.Engine{Kind: "vllm"}, Gateway: "istio",
	}
	if key := All().Named("llm-d").SetupKey(d); key != "llm-d/istio/" {
		t.Errorf("setup key %q", key)
	}
	UseEndpoint(d, runplan.Endpoint{BaseURL: "https://x.example//"}, "")
	p, err := All().Of(d)
	if err != nil {
		t.Fatal(err)
	}
	requests, err := p.Requests(d)
	if err != nil || len(requests) > 0 || p.SetupKey(d) != "" || p.Endpoint(d, "r").URL != "https://x.example" ||
		p.LacksFor(d) != "" {
		t.Errorf("%v, %v, %q, %v", requests, err, p.SetupKey(d), p.Endpoint(d, "r"))
	}
}

func TestADeploymentIsReadyWhenAllItsPodsAre(t *testing.T) {
	status := func(generation int64, replicas int64) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"generation": generation}, "spec": map[string]any{"replicas": int64(2)},
			"status": map[string]any{"observedGeneration": int64(1), "replicas": replicas, "updatedReplicas": replicas,
				"availableReplicas": replicas},
		}}
	}
	for _, row := range []struct {
		name string
		all  []*unstructured.Unstructured
		want bool
	}{
		{"none is there", nil, false},
		{"every pod is available", []*unstructured.Unstructured{status(1, 2)}, true},
		{"one pod is missing", []*unstructured.Unstructured{status(1, 1)}, false},
		{"the status is of an older generation", []*unstructured.Unstructured{status(2, 2)}, false},
		{"one of two is not ready", []*unstructured.Unstructured{status(1, 2), status(1, 0)}, false},
	} {
		if got := DeploymentsReady(row.all); got != row.want {
			t.Errorf("%s: %t", row.name, got)
		}
	}
}
