package platform

import (
	"cmp"
	"strings"

	"bflow.dev/bflow/runplan"
)

const nameEndpoint = "endpoint"

// endpoint is a server that is there already. No file names it as its platform: target.base_url does.
func endpoint() Platform {
	return Platform{
		Name: nameEndpoint, About: "a server that is already running (target.base_url)",
		Requests: func(*runplan.Deployment) (map[string]int, error) { return nil, nil },
		Pods:     func(*runplan.Deployment) int { return 0 },
		Endpoint: func(d *runplan.Deployment, _ string) Address { return Address{URL: d.Endpoint.BaseURL} },
	}
}

// UseEndpoint makes e the server of d: nothing is deployed, no scope is chosen. path is that of the readiness check, ""
// for the usual one.
func UseEndpoint(d *runplan.Deployment, e runplan.Endpoint, path string) {
	e.BaseURL = strings.TrimRight(e.BaseURL, "/")
	d.Endpoint = &e
	d.EndpointPath, d.EndpointScope = cmp.Or(path, "/v1/models"), "external"
	d.ModelStorage = nil
}
