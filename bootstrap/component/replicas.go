package component

import (
	"context"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/bootstrap/detect"
	"bflow.dev/bflow/bootstrap/objects"
)

const keyReplicas = "replicas"

// Replicas is more than one pod of the controller, of which one leads.
type Replicas struct{}

// Definition names it and its flag.
func (*Replicas) Definition() Definition {
	return Definition{Name: "replicas", Flags: []Flag{{
		Name: "controller-replicas", Key: keyReplicas, Kind: Number, Parse: parseReplicas,
		Usage: "replicas of bflow-controller, of which one is the leader (default: unchanged, initially 1)",
	}}}
}

func parseReplicas(given []string) (any, error) {
	n, err := strconv.Atoi(given[0])
	switch {
	case err != nil:
		return nil, fmt.Errorf("--controller-replicas %q: want a number", given[0])
	case n < 0:
		return nil, fmt.Errorf("%d replicas of the controller: want 1 or more", n)
	case n == 0:
		return nil, nil
	}
	return n, nil
}

// Detect reads nothing.
func (*Replicas) Detect(context.Context, detect.Cluster, detect.API) error { return nil }

// Render keeps one pod at least while nodes are drained.
func (*Replicas) Render(s Site) (Output, error) {
	count := 1
	if err := s.Settings.Read(keyReplicas, &count); err != nil || count <= 1 {
		return Output{}, err
	}
	return Output{Piece: objects.Piece{Folder: "replicas", Edit: func(o *unstructured.Unstructured) (bool, error) {
		if !objects.IsController(o) {
			return true, nil
		}
		return true, unstructured.SetNestedField(o.Object, int64(count), "spec", "replicas")
	}}}, nil
}
