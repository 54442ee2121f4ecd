package component

import (
	"context"

	"bflow.dev/bflow/bootstrap/detect"
	"bflow.dev/bflow/bootstrap/objects"
)

// Triggers is an EventListener in every namespace of runs, and its rights, where Tekton Triggers is.
type Triggers struct{ Served bool }

// Definition names it.
func (*Triggers) Definition() Definition { return Definition{Name: "triggers"} }

// Detect looks for Tekton Triggers.
func (t *Triggers) Detect(_ context.Context, _ detect.Cluster, api detect.API) error {
	t.Served = api.Serves("triggers.tekton.dev/v1beta1", "eventlisteners")
	return nil
}

// Render adds the listeners.
func (t *Triggers) Render(Site) (Output, error) {
	if !t.Served {
		return Output{}, nil
	}
	return Output{Piece: objects.Piece{Folder: "triggers"}}, nil
}
