// Package detecttest connects tests to servers of apitest, as bootstrap connects to a cluster. Only tests import it.
package detecttest

import (
	"testing"

	"bflow.dev/bflow/bootstrap/detect"
	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/internal/kube"
)

// Connect returns a client of a server, and what it serves.
func Connect(t testing.TB, s *apitest.Server) (detect.Cluster, detect.API) {
	t.Helper()
	client, err := kube.New(s.Config(), "")
	if err != nil {
		t.Fatal(err)
	}
	c := detect.Cluster{Client: client}
	api, err := c.API()
	if err != nil {
		t.Fatal(err)
	}
	return c, api
}
