package detect

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Monitoring is what rules and dashboards can be given to.
type Monitoring struct {
	Prometheus bool              `json:"prometheus"`       // the operator's PrometheusRule and PodMonitor are served
	Labels     map[string]string `json:"labels,omitempty"` // that the operator's Prometheus selects both kinds by
	Grafana    bool              `json:"grafana"`          // the operator's GrafanaDashboard is served
}

const groupPrometheus = "monitoring.coreos.com"

// Monitoring looks for the operators of Prometheus and Grafana.
func (c Cluster) Monitoring(ctx context.Context, api API) (Monitoring, error) {
	m := Monitoring{
		Prometheus: api.Serves(groupPrometheus+"/v1", "prometheusrules") && api.Serves(groupPrometheus+"/v1", "podmonitors"),
		Grafana:    api.Serves("grafana.integreatly.org/v1beta1", "grafanadashboards"),
	}
	if !api.Serves(groupPrometheus+"/v1", "prometheuses") {
		return m, nil
	}
	found, err := c.list(ctx, in(groupPrometheus, "v1", "prometheuses"), "", metav1.ListOptions{})
	if err != nil || len(found) == 0 {
		return m, err
	}
	m.Labels = map[string]string{}
	for _, selector := range []string{"ruleSelector", "podMonitorSelector"} {
		labels, _, _ := unstructured.NestedStringMap(found[0].Object, "spec", selector, "matchLabels")
		for key, value := range labels {
			m.Labels[key] = value
		}
	}
	return m, nil
}
