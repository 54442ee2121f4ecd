package component

import (
	"context"

	"bflow.dev/bflow/bootstrap/detect"
	"bflow.dev/bflow/bootstrap/objects"
	"bflow.dev/bflow/runplan/contract"
)

// Bflow is the controller, the queue of the hub, and the namespaces of runs with what runs need there.
type Bflow struct{}

// Definition names it.
func (*Bflow) Definition() Definition {
	return Definition{Name: "bflow", Part: contract.PartBflow}
}

// Detect reads nothing: what bflow depends on is known of every cluster.
func (*Bflow) Detect(context.Context, detect.Cluster, detect.API) error { return nil }

// Render renders the overlay of the platform with the pieces of the other components.
func (*Bflow) Render(s Site) (Output, error) {
	overlay := s.Overlay
	if overlay == "" && s.Cluster.Platform.IsOpenShift() {
		overlay = objects.OpenShift
	}
	nodes := s.LoadNodes
	if nodes == nil {
		nodes = s.Cluster.Nodes.LoadNodes
	}
	images := s.Mirror
	if s.Image != "" {
		images.Registry = "" // whoever names an image means it
	}
	all, err := objects.Objects(objects.Config{
		Overlay: overlay, Version: s.Version, Image: s.Image, Client: s.Client, From: images.Image,
		Namespaces: s.Namespaces, Hub: s.Cluster.Platform.Hub, LoadNodes: nodes, LoadCPU: s.Cluster.Nodes.LoadCPU,
		Flags: s.Controller, Pieces: s.Pieces,
	})
	return Output{Objects: all}, err
}
