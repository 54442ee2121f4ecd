package controller

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/runplan/contract"

	"github.com/prometheus/client_golang/prometheus"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// hub is an API server with what a hub has, and maybe a controller that works there.
type hub struct {
	*apitest.Server
	t      *testing.T
	probes string       // address
	refuse atomic.Value // func(apitest.Request) bool: what is forbidden
	ended  chan error   // what Run returned
	end    func()       // tells it to end
}

func newHub(t *testing.T) *hub {
	t.Helper()
	h := &hub{Server: apitest.New(t, "kube-system", contract.NamespaceSystem), t: t, ended: make(chan error, 1)}
	for kind, namespaced := range map[string]bool{"tekton.dev/v1 PipelineRun": true, "tekton.dev/v1 TaskRun": true,
		"kueue.x-k8s.io/v1beta2 Workload":   true,
		"kueue.x-k8s.io/v1beta2 LocalQueue": true, "kueue.x-k8s.io/v1beta2 ClusterQueue": false,
		"kueue.x-k8s.io/v1beta2 ResourceFlavor": false,
		"kueue.x-k8s.io/v1beta2 AdmissionCheck": false, "kueue.x-k8s.io/v1beta2 WorkloadPriorityClass": false,
		"scheduling.k8s.io/v1 PriorityClass": false,
		"coordination.k8s.io/v1 Lease":       true, "events.k8s.io/v1 Event": true} {
		version, name, _ := strings.Cut(kind, " ")
		h.Serve(version, name, namespaced)
	}
	h.forbid(func(apitest.Request) bool { return false })
	h.Refuse(func(q apitest.Request) (int, string) {
		if h.refuse.Load().(func(apitest.Request) bool)(q) {
			return http.StatusForbidden, q.String() + " is forbidden"
		}
		return 0, ""
	})
	return h
}

// forbid makes the server refuse what is tells, and nothing else.
func (h *hub) forbid(is func(apitest.Request) bool) { h.refuse.Store(is) }

// listing is a request that fills a cache of a resource.
func listing(resource string) func(apitest.Request) bool {
	return func(q apitest.Request) bool { return q.Resource == resource && (q.Verb == "list" || q.Verb == "watch") }
}

// start lets a controller work, which ends with the test at the latest.
func (h *hub) start(patience time.Duration, flags ...string) {
	h.t.Helper()
	ctrlmetrics.Registry = prometheus.NewRegistry() // of the process; each of its managers registers the same names
	kubeconfig, err := h.Kubeconfig(h.t.TempDir())
	if err != nil {
		h.t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.t.Fatal(err)
	}
	h.probes = free.Addr().String()
	free.Close()
	o, err := Parse(append([]string{"--kubeconfig", kubeconfig, "--leader-elect=false", "--metrics-address=0",
		"--probe-address", h.probes,
		"--cache-timeout", patience.String()}, flags...), io.Discard)
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	h.end = end
	go func() { h.ended <- Run(ctx, o, slog.New(slog.NewTextHandler(h.t.Output(), nil))) }()
	h.t.Cleanup(end)
}

// ask returns the answer of a probe, "" where nobody answers.
func (h *hub) ask(path string) string {
	request, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, "http://"+h.probes+path+"?verbose", nil)
	if err != nil {
		h.t.Fatal(err)
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return ""
	}
	defer res.Body.Close()
	return fmt.Sprint(res.StatusCode)
}

// submit makes a run that waits, as somebody does.
func (h *hub) submit(namespace, name string) {
	h.Put("/apis/tekton.dev/v1/namespaces/"+namespace+"/pipelineruns/"+name, apitest.Object{
		"metadata": apitest.Object{"uid": namespace + "-" + name, "creationTimestamp": "2026-01-01T00:00:00Z",
			"labels":      apitest.Object{contract.LabelPlanHash: "abc", contract.LabelQueue: "local"},
			"annotations": apitest.Object{contract.AnnotationRequests: `{"nvidia.com/gpu":"1"}`}},
		"spec": apitest.Object{"status": "PipelineRunPending", "pipelineRef": apitest.Object{"name": "p"}}})
}

func (h *hub) namespace(name string, labels apitest.Object) {
	h.Put("/api/v1/namespaces/"+name, apitest.Object{"metadata": apitest.Object{"labels": labels}})
}

// queued waits until the run of a namespace has its place in the queue.
func (h *hub) queued(namespace string) {
	h.t.Helper()
	eventually.True(h.t, "the Workload of the run in "+namespace, func() bool {
		return len(h.List("/apis/kueue.x-k8s.io/v1beta2/namespaces/"+namespace+"/workloads/")) == 1
	})
}

// over waits for the end of the controller.
func (h *hub) over() error {
	h.t.Helper()
	return eventually.Receive(h.t, "the end of the controller", h.ended)
}

func TestAKindThatEveryRunNeedsIsWaitedForAndThenTheProcessEndsWithASentence(t *testing.T) {
	for resource, kind := range map[string]string{"pipelineruns": "v1.PipelineRun", "taskruns": "v1.TaskRun",
		"priorityclasses": "v1.PriorityClass"} {
		t.Run(resource, func(t *testing.T) {
			h := newHub(t)
			h.forbid(listing(resource))
			h.start(2 * time.Second)
			eventually.True(t, "that it is alive", func() bool { return h.ask("/healthz") == "200" })
			if got := h.ask("/readyz"); got != "500" {
				t.Errorf("it is ready without them: %s", got)
			}
			err := h.over()
			if err == nil || !strings.Contains(err.Error(), kind+": ") || !strings.Contains(err.Error(), "is forbidden") ||
				!strings.Contains(err.Error(), "waiting for 2s") {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}

func TestItIsToldToEndBeforeItsCachesAreFilled(t *testing.T) {
	h := newHub(t)
	h.forbid(listing("pipelineruns"))
	h.start(time.Hour)
	eventually.True(t, "that it waits", func() bool { return h.ask("/readyz") == "500" })
	h.end()
	if err := h.over(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// TestItIsToldToEndBeforeTheAPIServerKnowsIt: the first question is the identity of the hub.
func TestItIsToldToEndBeforeTheAPIServerKnowsIt(t *testing.T) {
	h := newHub(t)
	h.forbid(func(apitest.Request) bool { return true })
	h.start(time.Hour)
	eventually.True(t, "that it asks", func() bool { return len(h.Requests()) > 0 })
	h.end()
	if err := h.over(); err == nil || !strings.Contains(err.Error(), "reading the identity of the hub") {
		t.Errorf("it ended with %v", err)
	}
}

func TestWhatDoesNotEndIsLeftBehind(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	end()
	hang, done := make(chan struct{}), make(chan struct{})
	err := endsWith(ctx, time.Millisecond, func() error { <-hang; close(done); return nil })
	if err == nil || !strings.Contains(err.Error(), "left behind") {
		t.Errorf("got %v", err)
	}
	close(hang)
	<-done
}

// TestPartsThatOtherRunsNeedDelayNobody: without the CRD of matrices and the right to the Secrets of targets, runs are
// queued; what was missing is used once it is there.
func TestPartsThatOtherRunsNeedDelayNobody(t *testing.T) {
	h := newHub(t)
	h.namespace("bench", apitest.Object{contract.LabelEnabled: "true"})
	h.submit("bench", "x")
	h.forbid(listing("secrets"))
	h.start(time.Hour)
	h.queued("bench")
	if got := h.ask("/readyz"); got != "200" {
		t.Errorf("it is not ready: %s", got)
	}
	from := len(h.Requests())
	h.forbid(func(apitest.Request) bool { return false })
	h.Serve("tekton.dev/v1beta1", "CustomRun", true)
	for _, watched := range []apitest.Request{{Verb: "watch", Resource: "customruns"},
		{Verb: "watch", Resource: "secrets", Namespace: contract.NamespaceSystem}} {
		eventually.True(t, "that it watches "+watched.Resource, func() bool {
			return slices.ContainsFunc(h.Requests()[from:], func(q apitest.Request) bool {
				return q.Verb == watched.Verb && q.Resource == watched.Resource && q.Namespace == watched.Namespace
			})
		})
	}
	h.end()
	if err := h.over(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// TestNamespacesComeAndGo: what lies in a namespace without the label is not touched, until the namespace gets it;
// what is refused in one namespace holds up no other.
func TestNamespacesComeAndGo(t *testing.T) {
	h := newHub(t)
	for _, name := range []string{"bench", "refused"} {
		h.namespace(name, apitest.Object{contract.LabelEnabled: "true"})
	}
	h.namespace("shop", nil)
	for _, name := range []string{"shop", "refused"} { // before the one that is looked at
		h.submit(name, "a")
	}
	h.submit("bench", "x")
	writes := func(namespace string) func(apitest.Request) bool {
		return func(q apitest.Request) bool {
			return q.Namespace == namespace && q.Verb != "get" && q.Verb != "list" && q.Verb != "watch"
		}
	}
	h.forbid(writes("refused"))
	h.start(time.Hour)
	h.queued("bench")
	if slices.ContainsFunc(h.Requests(), writes("shop")) {
		t.Error("it writes in a namespace that is none of runs")
	}
	h.namespace("shop", apitest.Object{contract.LabelEnabled: "true"})
	h.queued("shop")
	h.Remove("/api/v1/namespaces/bench")
	h.namespace("new", apitest.Object{contract.LabelEnabled: "true"})
	h.submit("new", "y")
	h.queued("new")
	h.forbid(func(apitest.Request) bool { return false })
	h.queued("refused")
	h.end()
	if err := h.over(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}
