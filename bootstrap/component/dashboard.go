package component

import (
	"context"

	"bflow.dev/bflow/bootstrap/detect"
	"bflow.dev/bflow/bootstrap/objects"
)

// Dashboard is the Grafana dashboard of bflow: a ConfigMap that the sidecar of Grafana's chart finds by its label, and
// where Grafana's operator is, a GrafanaDashboard that names it.
type Dashboard struct {
	Operator bool // of Grafana: it serves GrafanaDashboard
	Sidecar  bool // may be there: the operator of Prometheus is
}

// Definition names it.
func (*Dashboard) Definition() Definition { return Definition{Name: "dashboard"} }

// Detect looks for the operators of Grafana and Prometheus.
func (d *Dashboard) Detect(_ context.Context, _ detect.Cluster, api detect.API) error {
	d.Operator = api.Serves("grafana.integreatly.org/v1beta1", "grafanadashboards")
	d.Sidecar = servesRules(api)
	return nil
}

// Render adds the dashboard in the way that the Grafana there takes.
func (d *Dashboard) Render(Site) (Output, error) {
	switch {
	case d.Operator:
		return Output{Piece: objects.Piece{Folder: "grafana-operator"}}, nil
	case d.Sidecar:
		return Output{Piece: objects.Piece{Folder: "dashboard"}}, nil
	}
	return Output{}, nil
}
