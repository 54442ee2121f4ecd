package component

import (
	"context"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/bootstrap/detect"
	"bflow.dev/bflow/bootstrap/objects"
	"bflow.dev/bflow/internal/kube"
)

const groupPrometheus = "monitoring.coreos.com"

// Prometheus is the PodMonitor and the PrometheusRule of bflow, where the operator of Prometheus is.
type Prometheus struct {
	Served bool              // the operator's PrometheusRule and PodMonitor
	Labels map[string]string // by which the operator's Prometheus selects both kinds
}

// Definition names it.
func (*Prometheus) Definition() Definition { return Definition{Name: "Prometheus rules"} }

// Detect looks for the operator of Prometheus and what it selects rules by.
func (p *Prometheus) Detect(ctx context.Context, c detect.Cluster, api detect.API) error {
	*p = Prometheus{Served: servesRules(api)}
	if !api.Serves(groupPrometheus+"/v1", "prometheuses") {
		return nil
	}
	found, err := c.List(ctx, kube.In(groupPrometheus, "v1", "prometheuses"), kube.Selector{})
	if err != nil || len(found) == 0 {
		return err
	}
	p.Labels = map[string]string{}
	for _, selector := range []string{"ruleSelector", "podMonitorSelector"} {
		labels, _, _ := unstructured.NestedStringMap(found[0].Object, "spec", selector, "matchLabels")
		maps.Copy(p.Labels, labels)
	}
	return nil
}

func servesRules(api detect.API) bool {
	return api.Serves(groupPrometheus+"/v1", "prometheusrules") && api.Serves(groupPrometheus+"/v1", "podmonitors")
}

// Render adds both, with the labels that this Prometheus selects.
func (p *Prometheus) Render(Site) (Output, error) {
	if !p.Served {
		return Output{}, nil
	}
	return Output{Piece: objects.Piece{Folder: "prometheus", Edit: func(o *unstructured.Unstructured) (bool, error) {
		if o.GroupVersionKind().Group == groupPrometheus {
			objects.AddLabels(o, p.Labels)
		}
		return true, nil
	}}}, nil
}
