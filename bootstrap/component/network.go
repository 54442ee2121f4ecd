package component

import (
	"context"
	"fmt"
	"strconv"

	"bflow.dev/bflow/bootstrap/detect"
	"bflow.dev/bflow/bootstrap/objects"
)

const keyNetwork = "networkPolicies"

// Network is the NetworkPolicies of pods of bflow, on the hub and on its targets.
type Network struct{}

// Definition names it and its flag.
func (*Network) Definition() Definition {
	return Definition{Name: "NetworkPolicies", Flags: []Flag{{
		Name: "network-policies", Key: keyNetwork, Kind: Switch, Parse: parseNetwork,
		Usage: "create NetworkPolicies that restrict access to bflow's pods; =false removes them",
	}}}
}

func parseNetwork(given []string) (any, error) {
	on, err := strconv.ParseBool(given[0])
	if err != nil {
		return nil, fmt.Errorf("--network-policies %q: want true or false", given[0])
	}
	return on, nil
}

// Detect reads nothing: no API tells whether a network enforces policies.
func (*Network) Detect(context.Context, detect.Cluster, detect.API) error { return nil }

// Render adds the policies where they are asked for.
func (*Network) Render(s Site) (Output, error) {
	on, err := HasNetworkPolicies(s.Settings)
	if err != nil || !on {
		return Output{}, err
	}
	return Output{Piece: objects.Piece{Folder: "network"}}, nil
}

// HasNetworkPolicies reports whether an installation has NetworkPolicies: its targets then have them as well.
func HasNetworkPolicies(s Settings) (on bool, err error) {
	err = s.Read(keyNetwork, &on)
	return on, err
}
