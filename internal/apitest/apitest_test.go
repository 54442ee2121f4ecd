package apitest_test

import (
	"fmt"
	"net/http"
	"testing"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/internal/eventually"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
)

func maps(t *testing.T, s *apitest.Server) dynamic.ResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	return client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("bench")
}

func configMap(name string, finalizers ...any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": name, "finalizers": finalizers}, "data": map[string]any{"a": "1"}}}
}

// TestTheLifeOfAnObject is that of a real server, as a real client sees it.
func TestTheLifeOfAnObject(t *testing.T) {
	s := apitest.New(t, "bench")
	api, ctx := maps(t, s), t.Context()
	if _, err := api.Create(ctx,
		configMap("dry"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil ||
		len(s.List("/api/v1/namespaces/bench/")) > 0 {
		t.Errorf("a dry run: %v, left %q", err, s.List("/api/v1/namespaces/bench/"))
	}
	list, err := api.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.Create(ctx, configMap("one", "x.example/hold"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := api.Create(ctx, configMap("one"), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("made twice: %v", err)
	}
	stream, err := api.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.Patch(ctx, "one", types.MergePatchType, []byte(`{"data":{"a":null,"b":"2"}}`),
		metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := api.Patch(ctx, "one", types.MergePatchType, []byte(`{"metadata":{"resourceVersion":"1"}}`),
		metav1.PatchOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("a patch of an old version: %v", err)
	}
	if err := api.Delete(ctx, "one", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if o := s.Get("/api/v1/namespaces/bench/configmaps/one"); o == nil {
		t.Error("its finalizer does not hold it")
	}
	s.Change("/api/v1/namespaces/bench/configmaps/one", func(o apitest.Object) {
		unstructured.RemoveNestedField(o, "metadata", "finalizers")
	})
	if _, err := api.Get(ctx, "one", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("it is still there: %v", err)
	}
	want := []watch.EventType{watch.Added, watch.Modified, watch.Modified, watch.Deleted}
	var got []watch.EventType
	for range want {
		got = append(got, eventually.Receive(t, fmt.Sprintf("an event after %q", got), stream.ResultChan()).Type)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	s.Break()
	if _, ok := <-stream.ResultChan(); ok {
		t.Error("the watch lives on")
	}
}

// TestNothingBeginsWhileTheServerGoesDown has it go down after it has begun to answer.
func TestNothingBeginsWhileTheServerGoesDown(t *testing.T) {
	for _, row := range []struct{ name, query string }{
		{"a watch", "/api/v1/namespaces/bench/configmaps?watch=true"},
		{"a log that is followed", "/api/v1/namespaces/bench/pods/p/log?container=c&follow=true"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := apitest.New(t, "bench")
			s.Put("/api/v1/namespaces/bench/pods/p", apitest.Object{"kind": "Pod"})
			s.Say("bench", "p", "c", "a line")
			s.Refuse(func(apitest.Request) (int, string) {
				s.Down(true)
				return 0, ""
			})
			req, err := http.NewRequestWithContext(eventually.Context(t), http.MethodGet, s.URL+row.query, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusBadGateway {
				t.Errorf("it is answered with %s", resp.Status)
			}
		})
	}
}

func TestOnlyWhatIsServedIsThere(t *testing.T) {
	s := apitest.New(t, "bench")
	s.ServeRuns()
	s.Unserve("kueue")
	client, err := discovery.NewDiscoveryClientForConfig(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	if list, err := client.ServerResourcesForGroupVersion("tekton.dev/v1"); err != nil || len(list.APIResources) != 4 {
		t.Errorf("Tekton: %v, %v", list, err)
	}
	if _, err := client.ServerResourcesForGroupVersion("kueue.x-k8s.io/v1beta2"); !apierrors.IsNotFound(err) {
		t.Errorf("Kueue: %v", err)
	}
}
