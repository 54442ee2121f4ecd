package apply

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/internal/kube"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// inMemory is a cluster with objects.
func inMemory(t *testing.T, objects ...*unstructured.Unstructured) (*apitest.Server, *Cluster) {
	t.Helper()
	srv := apitest.New(t, "s")
	for _, o := range objects {
		srv.Put(pathOf(o), o)
	}
	api, err := kube.New(srv.Config(), "")
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(api)
	if err != nil {
		t.Fatal(err)
	}
	return srv, c
}

// pathOf is where a Deployment or a Pod lies.
func pathOf(o *unstructured.Unstructured) string {
	if o.GetKind() == "Pod" {
		return "/api/v1/namespaces/s/pods/" + o.GetName()
	}
	return "/apis/apps/v1/namespaces/s/deployments/" + o.GetName()
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
	_, c := inMemory(t, deployment, pod)
	err := c.Wait(ctx, []Ref{RefOf(deployment)}, Ready, func(s string) {
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
	for reason, gives := range map[string]bool{"ErrImagePull": true, "ImagePullBackOff": true, "InvalidImageName": true,
		"CrashLoopBackOff": false} {
		pod := parse(t, `{apiVersion: v1, kind: Pod, metadata: {name: d-1, namespace: s, labels: {app: d}},
  status: {containerStatuses: [{state: {waiting: {reason: `+reason+`}}}]}}`)
		deployment := parse(t, starting)
		_, c := inMemory(t, deployment, pod)
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
	srv, c := inMemory(t, deployment)
	err := c.Wait(t.Context(), []Ref{RefOf(deployment)}, Ready, func(string) {
		done := deployment.DeepCopy()
		if err := unstructured.SetNestedField(done.Object, int64(1), "status", "availableReplicas"); err != nil {
			t.Error(err)
		}
		srv.Put(pathOf(done), done)
	})
	if err != nil {
		t.Error(err)
	}
}

func TestWhatIsNotThereIsNotReadyButGone(t *testing.T) {
	missing := Ref{Kind: "ConfigMap", Namespace: "s", Name: "c"}
	unknown := Ref{Group: "x.example", Kind: "Nothing", Name: "c"}
	_, c := inMemory(t)
	if err := c.Wait(t.Context(), []Ref{missing, unknown}, Gone, nil); err != nil {
		t.Error(err)
	}
	for _, ref := range []Ref{missing, unknown} {
		ctx, cancel := context.WithCancel(t.Context())
		err := c.Wait(ctx, []Ref{ref}, Ready, func(string) { cancel() })
		var wait *WaitError
		if !errors.As(err, &wait) || wait.Reason != "it is not there" {
			t.Errorf("%s: got %v", ref, err)
		}
	}
}

func TestListOfAnUnknownKindIsEmpty(t *testing.T) {
	_, c := inMemory(t)
	all, err := c.List(t.Context(), schema.GroupKind{Group: "x.example", Kind: "Nothing"}, "", "")
	if err != nil || len(all) != 0 {
		t.Errorf("got %v, %v", all, err)
	}
}

// TestWaitSaysThatTheServerIsAway, and goes on when it is back.
func TestWaitSaysThatTheServerIsAway(t *testing.T) {
	deployment := parse(t, starting)
	srv, c := inMemory(t, deployment)
	var told []string
	err := c.Wait(eventually.Context(t), []Ref{RefOf(deployment)}, Ready, func(s string) {
		told = append(told, s)
		switch len(told) {
		case 1:
			srv.Down(true)
		case 2:
			done := deployment.DeepCopy()
			if err := unstructured.SetNestedField(done.Object, int64(1), "status", "availableReplicas"); err != nil {
				t.Error(err)
			}
			srv.Put(pathOf(done), done)
			srv.Down(false)
		}
	})
	if err != nil || len(told) != 2 || !strings.HasSuffix(told[1], ": the server does not answer") {
		t.Errorf("was told %q, %v", told, err)
	}
}

// TestAWriteIsRepeatedWhileItsWebhookIsAway, unless it is a dry run or the error is of another kind.
func TestAWriteIsRepeatedWhileItsWebhookIsAway(t *testing.T) {
	for _, row := range []struct {
		name, message string
		o             Options
		done          bool
	}{
		{"a webhook that is starting", `failed calling webhook "x": connect: connection refused`, Options{}, true},
		{"a dry run", `failed calling webhook "x": connect: connection refused`, Options{DryRun: true}, false},
		{"another error of the server", "conversion is broken", Options{}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			srv, c := inMemory(t)
			var asked atomic.Int32
			srv.Refuse(func(q apitest.Request) (int, string) {
				if q.Verb == "patch" && asked.Add(1) == 1 {
					return http.StatusInternalServerError, row.message
				}
				return 0, ""
			})
			_, err := c.Apply(eventually.Context(t), parse(t, starting), row.o)
			if (err == nil) != row.done {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestAWriteToAServerThatStaysAwayIsGivenUp also where its ctx has no end.
func TestAWriteToAServerThatStaysAwayIsGivenUp(t *testing.T) {
	srv, c := inMemory(t)
	c.writeTimeout = time.Nanosecond
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asked atomic.Int32
	srv.Refuse(func(apitest.Request) (int, string) {
		if asked.Add(1) == 3 {
			cancel()
		}
		return http.StatusServiceUnavailable, "away"
	})
	_, err := c.Apply(ctx, parse(t, starting), Options{})
	if err == nil || ctx.Err() != nil {
		t.Errorf("%d questions, %v", asked.Load(), err)
	}
}
