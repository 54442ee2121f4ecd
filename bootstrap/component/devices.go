package component

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/bootstrap/detect"
	"bflow.dev/bflow/bootstrap/objects"
)

// Who may make pods that ask for devices in namespaces of runs.
const (
	devicesOfRuns   = "bflow"
	devicesOfAnyone = "anyone"
)

const (
	keyDevices = "devicePods"

	// devicesPolicy is the name of the ValidatingAdmissionPolicy in the overlays, and of its binding.
	devicesPolicy = "bflow-devices"
)

// Devices is the rule that only runs make pods that ask for devices where runs live.
type Devices struct{}

// Definition names it and its flag.
func (*Devices) Definition() Definition {
	return Definition{Name: "rule for devices", Flags: []Flag{{
		Name: "device-pods", Key: keyDevices, Kind: Text, Parse: parseDevices,
		Usage: "who may create pods that request devices in namespaces for runs: " + devicesOfRuns + " or " +
			devicesOfAnyone +
			" (default: " + devicesOfRuns + ")",
	}}}
}

func parseDevices(given []string) (any, error) {
	switch given[0] {
	case "":
		return nil, nil
	case devicesOfRuns, devicesOfAnyone:
		return given[0], nil
	}
	return nil, fmt.Errorf("--device-pods %q: it is %s or %s", given[0], devicesOfRuns, devicesOfAnyone)
}

// Detect reads nothing.
func (*Devices) Detect(context.Context, detect.Cluster, detect.API) error { return nil }

// Render leaves the rule out where anyone may.
func (*Devices) Render(s Site) (Output, error) {
	who := devicesOfRuns
	if err := s.Settings.Read(keyDevices, &who); err != nil || who != devicesOfAnyone {
		return Output{}, err
	}
	return Output{Piece: objects.Piece{Edit: func(o *unstructured.Unstructured) (bool, error) {
		return o.GetName() != devicesPolicy, nil
	}}}, nil
}
