package apply

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
)

// fixed is a mapper with a fixed set of kinds.
type fixed struct{ meta.RESTMapper }

func (fixed) Reset() {}

// inMemory is a cluster of Deployments and Pods without a server.
func inMemory(objects ...runtime.Object) *Cluster {
	scheme := runtime.NewScheme()
	lists := map[schema.GroupVersionResource]string{
		{Group: "apps", Version: "v1", Resource: "deployments"}: "DeploymentList",
		{Version: "v1", Resource: "pods"}:                       "PodList",
		{Version: "v1", Resource: "configmaps"}:                 "ConfigMapList",
	}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{{Group: "apps", Version: "v1"}, {Version: "v1"}})
	mapper.Add(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, meta.RESTScopeNamespace)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, meta.RESTScopeNamespace)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, meta.RESTScopeNamespace)
	return &Cluster{objects: fake.NewSimpleDynamicClientWithCustomListKinds(scheme, lists, objects...), mapper: fixed{mapper}, imagePullGrace: imagePullGrace}
}

const starting = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: s},
  spec: {selector: {matchLabels: {app: d}}}, status: {updatedReplicas: 1, availableReplicas: 0, replicas: 1}}`

func TestWaitSaysWhichPodIsInTrouble(t *testing.T) {
	pod := parse(t, `{apiVersion: v1, kind: Pod, metadata: {name: d-1, namespace: s, labels: {app: d}},
  status: {containerStatuses: [{state: {waiting: {reason: ImagePullBackOff, message: no such image}}}]}}`)
	deployment := parse(t, starting)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var told []string
	err := inMemory(deployment, pod).Wait(ctx, []Ref{RefOf(deployment)}, Ready, func(s string) {
		told = append(told, s)
		cancel()
	})
	var wait *WaitError
	if !errors.As(err, &wait) || wait.Reason != `0 of 1 ready: pod "d-1": ImagePullBackOff: no such image` {
		t.Errorf("got %v", err)
	}
	if len(told) != 1 || !strings.HasPrefix(told[0], `waiting for Deployment "d" in "s": 0 of 1 ready`) {
		t.Errorf("was told %q", told)
	}
}

// TestWaitDoesNotGoOnForAnImageThatNobodyCanPull even if time is left.
func TestWaitDoesNotGoOnForAnImageThatNobodyCanPull(t *testing.T) {
	for reason, gives := range map[string]bool{"ErrImagePull": true, "ImagePullBackOff": true, "InvalidImageName": true, "CrashLoopBackOff": false} {
		pod := parse(t, `{apiVersion: v1, kind: Pod, metadata: {name: d-1, namespace: s, labels: {app: d}},
  status: {containerStatuses: [{state: {waiting: {reason: `+reason+`}}}]}}`)
		deployment := parse(t, starting)
		c := inMemory(deployment, pod)
		c.imagePullGrace = time.Nanosecond
		ctx, cancel := context.WithCancel(t.Context())
		told := false
		err := c.Wait(ctx, []Ref{RefOf(deployment)}, Ready, func(string) { // what stands for some seconds is told
			told = true
			cancel()
		})
		var wait *WaitError
		if !errors.As(err, &wait) || !strings.Contains(wait.Reason, reason) || told == gives {
			t.Errorf("%s: it was waited for %v, and then: %v", reason, told, err)
		}
		cancel()
	}
}

func TestWaitEndsWithTheChangeItWaitsFor(t *testing.T) {
	deployment := parse(t, starting)
	cluster := inMemory(deployment)
	resource, err := cluster.resource(RefOf(deployment))
	if err != nil {
		t.Fatal(err)
	}
	err = cluster.Wait(t.Context(), []Ref{RefOf(deployment)}, Ready, func(string) {
		done := deployment.DeepCopy()
		if err := unstructured.SetNestedField(done.Object, int64(1), "status", "availableReplicas"); err != nil {
			t.Error(err)
		}
		if _, err := resource.Update(context.Background(), done, metav1.UpdateOptions{}); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

func TestWhatIsNotThereIsNotReadyButGone(t *testing.T) {
	missing := Ref{Kind: "ConfigMap", Namespace: "s", Name: "c"}
	unknown := Ref{Group: "x.example", Kind: "Nothing", Name: "c"}
	if err := inMemory().Wait(t.Context(), []Ref{missing, unknown}, Gone, nil); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var wait *WaitError
	if err := inMemory().Wait(ctx, []Ref{missing}, Ready, nil); !errors.As(err, &wait) || wait.Reason != "it is not there" {
		t.Errorf("got %v", err)
	}
}

func TestListOfAnUnknownKindIsEmpty(t *testing.T) {
	all, err := inMemory().List(t.Context(), schema.GroupKind{Group: "x.example", Kind: "Nothing"}, "", "")
	if err != nil || len(all) != 0 {
		t.Errorf("got %v, %v", all, err)
	}
}
