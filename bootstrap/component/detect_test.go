package component_test

import (
	"errors"
	"fmt"
	"testing"

	"bflow.dev/bflow/bootstrap/component"
	"bflow.dev/bflow/bootstrap/detect"
	"bflow.dev/bflow/bootstrap/detect/detecttest"
	"bflow.dev/bflow/internal/apitest"

	"github.com/google/go-cmp/cmp"
)

// deployment is a controller in a namespace.
func deployment(name, namespace, image, more string) string {
	return fmt.Sprintf(`
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s, namespace: %s%s}
spec: {template: {spec: {containers: [{name: c, image: %q}]}}}
status: {availableReplicas: 1}
`, name, namespace, more, image)
}

func kueueConfig(namespace, frameworks string) string {
	return fmt.Sprintf(`
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kueue-manager-config, namespace: %s}
data:
  controller_manager_config.yaml: |
    kind: Configuration
    integrations: {frameworks: %s}
`, namespace, frameworks)
}

func TestWhoInstalledTekton(t *testing.T) {
	info := func(namespace string) string {
		return "\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: pipelines-info, namespace: " + namespace +
			"}, data: {version: v1.12.0}}\n"
	}
	for _, row := range []struct {
		name    string
		serve   []string
		objects string
		want    detect.Install
	}{
		{name: "nobody"},
		{name: "an API without a controller", serve: []string{"tekton.dev/v1 PipelineRun"},
			want: detect.Install{Present: true, By: "upstream"}},
		{name: "upstream's manifests", serve: []string{"tekton.dev/v1 PipelineRun"},
			objects: deployment("tekton-pipelines-controller", "tekton-pipelines",
				"ghcr.io/tektoncd/pipeline/controller-1bb5:v1.13.1@sha256:00", ""),
			want: detect.Install{Present: true, By: "upstream", Version: "v1.13.1", Namespace: "tekton-pipelines",
				Ready: true}},
		{name: "bflow, by its label", serve: []string{"tekton.dev/v1 PipelineRun"},
			objects: deployment("tekton-pipelines-controller", "tekton-pipelines", "reg:5000/controller",
				", labels: {app.kubernetes.io/managed-by: bflow, app.kubernetes.io/version: v1.13.1}"),
			want: detect.Install{Present: true, By: "bflow", Version: "v1.13.1", Namespace: "tekton-pipelines", Ready: true}},
		{name: "bflow, by its field manager", serve: []string{"tekton.dev/v1 PipelineRun"},
			objects: deployment("tekton-pipelines-controller", "tekton-pipelines", "reg:5000/controller:v1.13.1",
				", managedFields: [{manager: bflow, operation: Apply, apiVersion: apps/v1}]"),
			want: detect.Install{Present: true, By: "bflow", Version: "v1.13.1", Namespace: "tekton-pipelines", Ready: true}},
		{name: "OpenShift Pipelines, which says its version in pipelines-info",
			serve: []string{"tekton.dev/v1 PipelineRun", "operator.tekton.dev/v1alpha1 TektonConfig"},
			objects: deployment("tekton-pipelines-controller", "openshift-pipelines",
				"registry.redhat.io/openshift-pipelines/pipelines-controller-rhel9@sha256:00", "") + info("openshift-pipelines"),
			want: detect.Install{Present: true, By: "OpenShift Pipelines", Version: "v1.12.0",
				Namespace: "openshift-pipelines", Ready: true}},
		{name: "the operator on a plain cluster", serve: []string{"tekton.dev/v1 PipelineRun",
			"operator.tekton.dev/v1alpha1 TektonConfig"},
			objects: deployment("tekton-pipelines-controller", "tekton-pipelines", "x", "") + info("tekton-pipelines"),
			want: detect.Install{Present: true, By: "Tekton operator", Version: "v1.12.0", Namespace: "tekton-pipelines",
				Ready: true}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, api := detecttest.Connect(t, apitest.NewWith(t, row.serve, row.objects))
			var got component.Tekton
			if err := got.Detect(t.Context(), c, api); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, got.Installed()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestWhoInstalledKueueAndHow(t *testing.T) {
	const name = "kueue-controller-manager"
	for _, row := range []struct {
		name    string
		serve   []string
		objects string
		want    component.Kueue
		pods    bool
	}{
		{name: "nobody"},
		{name: "upstream's default, which manages pods", serve: []string{"kueue.x-k8s.io/v1beta1 Workload",
			"kueue.x-k8s.io/v1beta2 Workload"},
			objects: deployment(name, "kueue-system", "registry.k8s.io/kueue/kueue:v0.19.0", "") +
				kueueConfig("kueue-system", "[batch/job, pod]"), pods: true,
			want: component.Kueue{Served: []string{"v1beta1", "v1beta2"}, Frameworks: []string{"batch/job", "pod"},
				Install: detect.Install{Present: true, By: "upstream", Version: "v0.19.0", Namespace: "kueue-system",
					Ready: true}}},
		{name: "an old one", serve: []string{"kueue.x-k8s.io/v1beta1 Workload"},
			objects: deployment(name, "kueue-system", "registry.k8s.io/kueue/kueue:v0.10.0", "") +
				kueueConfig("kueue-system", "[]"),
			want: component.Kueue{Served: []string{"v1beta1"}, Frameworks: []string{"batch/job"},
				Install: detect.Install{Present: true, By: "upstream", Version: "v0.10.0", Namespace: "kueue-system",
					Ready: true}}},
		{name: "OpenShift AI, without a configuration to read", serve: []string{"kueue.x-k8s.io/v1beta2 Workload"},
			objects: deployment(name, "redhat-ods-applications", "quay.io/x@sha256:00", ""),
			want: component.Kueue{Served: []string{"v1beta2"},
				Install: detect.Install{Present: true, By: "OpenShift AI", Namespace: "redhat-ods-applications", Ready: true}}},
		{name: "the Red Hat build", serve: []string{"kueue.x-k8s.io/v1beta2 Workload", "kueue.openshift.io/v1 Kueue"},
			objects: deployment(name, "openshift-kueue-operator", "x", ""),
			want: component.Kueue{Served: []string{"v1beta2"},
				Install: detect.Install{Present: true, By: "Red Hat build of Kueue", Namespace: "openshift-kueue-operator",
					Ready: true}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, api := detecttest.Connect(t, apitest.NewWith(t, row.serve, row.objects))
			var got component.Kueue
			if err := got.Detect(t.Context(), c, api); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if got.ManagesPods() != row.pods || got.Usable() != (row.want.Install.Present && row.name != "an old one") {
				t.Errorf("manages pods: %v, usable: %v", got.ManagesPods(), got.Usable())
			}
		})
	}
}

func TestWhatMonitoringIsThere(t *testing.T) {
	operator := []string{"monitoring.coreos.com/v1 PrometheusRule", "monitoring.coreos.com/v1 PodMonitor"}
	const grafana = "grafana.integreatly.org/v1beta1 GrafanaDashboard"
	const prometheus = `
{apiVersion: monitoring.coreos.com/v1, kind: Prometheus, metadata: {name: k8s, namespace: monitoring}, spec: {ruleSelector: {matchLabels: {release: prom}}, podMonitorSelector: {matchLabels: {team: ml}}}}
`
	for _, row := range []struct {
		name      string
		serve     []string
		objects   []string
		rules     component.Prometheus
		dashboard component.Dashboard
	}{
		{name: "none"},
		{name: "the operator of Prometheus, with nothing to read its labels off", serve: operator,
			rules: component.Prometheus{Served: true}, dashboard: component.Dashboard{Sidecar: true}},
		{name: "a Prometheus that selects by labels, and the operator of Grafana", serve: append(operator, grafana),
			objects:   []string{prometheus},
			rules:     component.Prometheus{Served: true, Labels: map[string]string{"release": "prom", "team": "ml"}},
			dashboard: component.Dashboard{Operator: true, Sidecar: true}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, api := detecttest.Connect(t, apitest.NewWith(t, row.serve, row.objects...))
			var rules component.Prometheus
			var dashboard component.Dashboard
			if err := errors.Join(rules.Detect(t.Context(), c, api), dashboard.Detect(t.Context(), c, api)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.rules, rules) + cmp.Diff(row.dashboard, dashboard); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
