package bootstrap

import (
	"reflect"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/internal/eventually"
)

const longEnough = eventually.Limit

// works plays all controllers of a cluster until the test ends: namespaces and CRDs are established, Deployments run,
// webhooks have certificates, queues are active.
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

// isWorking reports whether the controllers have done their work on an object.
func isWorking(o apitest.Object) bool {
	before := apitest.Object{}
	for key, value := range o {
		before[key] = value
	}
	after := (&unstructured.Unstructured{Object: before}).DeepCopy().Object
	work(after)
	return reflect.DeepEqual(before, after)
}

// work does what the controllers do with an object.
func work(o apitest.Object) {
	condition := func(kind string) apitest.Object {
		return apitest.Object{"conditions": []any{apitest.Object{"type": kind, "status": "True"}}}
	}
	switch o["kind"] {
	case "Namespace":
		o["status"] = apitest.Object{"phase": "Active"}
	case "LocalQueue", "ClusterQueue", "AdmissionCheck":
		o["status"] = condition("Active")
	case "APIService":
		o["status"] = condition("Available")
	case "CustomResourceDefinition":
		o["status"] = condition("Established")
		if client, found, _ := unstructured.NestedMap(o, "spec", "conversion", "webhook", "clientConfig"); found {
			client["caBundle"] = "Y2E="
			_ = unstructured.SetNestedMap(o, client, "spec", "conversion", "webhook", "clientConfig")
		}
	case "Deployment":
		replicas, found, _ := unstructured.NestedInt64(o, "spec", "replicas")
		if !found {
			replicas = 1
		}
		o["status"] = apitest.Object{"replicas": replicas, "updatedReplicas": replicas, "availableReplicas": replicas}
	case "DaemonSet":
		o["status"] = apitest.Object{"desiredNumberScheduled": int64(2), "numberReady": int64(2)}
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		webhooks, _ := o["webhooks"].([]any)
		for _, w := range webhooks {
			hook := w.(apitest.Object)
			if hook["rules"] == nil {
				hook["rules"] = []any{apitest.Object{"operations": []any{"CREATE"}}}
			}
			hook["clientConfig"].(apitest.Object)["caBundle"] = "Y2E="
		}
	}
}
