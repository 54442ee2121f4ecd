package bootstrap

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/internal/eventually"
)

const longEnough = eventually.Limit

// works plays all controllers of a cluster until the test ends: namespaces and CRDs take objects, Deployments run, webhooks
// know their certificates, queues are active.
func works(t *testing.T, s *apitest.Server) {
	t.Helper()
	stop, stopped := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(stop); <-stopped })
	go func() {
		defer close(stopped)
		for {
			for _, path := range s.List("/") {
				if o := s.Get(path); o != nil && !isWorking(o) {
					s.Change(path, work)
				}
			}
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond): //nolint:forbidigo // as often as these controllers look
			}
		}
	}()
}

func isWorking(o apitest.Object) bool {
	seen, _, _ := unstructured.NestedFieldNoCopy(o, "status", "seen")
	return seen == specOf(o) || o["kind"] == "PipelineRun" || o["kind"] == "CustomRun"
}

// specOf is how many replicas are wanted, of a Deployment, and else whether there is something to do at all.
func specOf(o apitest.Object) any {
	replicas, found, _ := unstructured.NestedInt64(o, "spec", "replicas")
	if !found {
		replicas = 1
	}
	return replicas
}

func work(o apitest.Object) {
	if len(o) == 0 {
		return
	}
	n := specOf(o)
	conditions := []any{}
	for _, kind := range []string{"Active", "Established", "Available"} {
		conditions = append(conditions, apitest.Object{"type": kind, "status": "True"})
	}
	o["status"] = apitest.Object{"seen": n, "phase": "Active", "conditions": conditions, "replicas": n, "updatedReplicas": n, "availableReplicas": n}
	webhooks, _ := o["webhooks"].([]any)
	for _, w := range webhooks {
		hook := w.(apitest.Object)
		hook["rules"] = []any{apitest.Object{}}
		hook["clientConfig"].(apitest.Object)["caBundle"] = "Y2E="
	}
	if client, found, _ := unstructured.NestedMap(o, "spec", "conversion", "webhook", "clientConfig"); found {
		client["caBundle"] = "Y2E="
		_ = unstructured.SetNestedMap(o, client, "spec", "conversion", "webhook", "clientConfig")
	}
}
