package gc_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/queue/gc"
	"bflow.dev/bflow/queue/queuetest"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	mine, other = "hub-a", "hub-b"
	runsAt      = "/apis/tekton.dev/v1/namespaces/bench/pipelineruns/"
)

// lab is a hub and a target of it, each an API server.
type lab struct {
	t           *testing.T
	hub, target *apitest.Server
	h           gc.Hub
	way         client.Client
}

func newLab(t *testing.T) *lab {
	l := &lab{t: t, hub: apitest.New(t, "bench", "kube-system"), target: apitest.New(t, "bench")}
	l.hub.Serve("tekton.dev/v1", "PipelineRun", true)
	l.hub.Serve("kueue.x-k8s.io/v1beta2", "LocalQueue", true)
	l.hub.Put("/apis/kueue.x-k8s.io/v1beta2/namespaces/bench/localqueues/lab", apitest.Object{})
	l.target.Serve("batch/v1", "Job", true)
	l.target.OnDelete(func(q apitest.Request, _ apitest.Object) { l.target.Remove(q.Path) })
	hub := queuetest.Connect(t, l.hub)
	l.way = queuetest.Connect(t, l.target)
	l.h = gc.Hub{ID: mine, Cache: hub, Live: hub, Now: time.Now}
	return l
}

// put lays an object of a run on the target.
func (l *lab) put(kind, name, hub, run string, age time.Duration) {
	at := map[string]string{"deployments": "/apis/apps/v1", "jobs": "/apis/batch/v1"}[kind]
	if at == "" {
		at = "/api/v1"
	}
	l.target.Put(at+"/namespaces/bench/"+kind+"/"+name, apitest.Object{"metadata": apitest.Object{
		"creationTimestamp": time.Now().Add(-age).UTC().Format(time.RFC3339),
		"labels":            apitest.Object{contract.LabelHub: hub, contract.LabelRun: run, contract.LabelRelease: "r"},
	}})
}

// run lays a PipelineRun on the hub.
func (l *lab) run(name string, annotations map[string]string, ended time.Duration, labels ...string) {
	o := apitest.Object{"metadata": apitest.Object{"labels": apitest.Object{contract.LabelPlanHash: "h"},
		"annotations": annotations}, "spec": apitest.Object{}}
	for _, run := range labels {
		o["metadata"].(apitest.Object)["labels"].(apitest.Object)[contract.LabelRun] = run
	}
	if ended > 0 {
		at := time.Now().Add(-ended).UTC().Format(time.RFC3339)
		o["status"] = apitest.Object{"completionTime": at,
			"conditions": []any{apitest.Object{"type": "Succeeded", "status": "True", "lastTransitionTime": at}}}
	}
	l.hub.Put(runsAt+name, o)
}

func (l *lab) leaks() string {
	l.t.Helper()
	leaks, err := l.h.Find(l.t.Context(), l.way, "lab", []string{"bench"})
	if err != nil {
		l.t.Fatal(err)
	}
	var out []string
	for _, leak := range leaks {
		out = append(out, leak.String())
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func TestFind(t *testing.T) {
	admitted := map[string]string{contract.AnnotationAdmitted: "x"}
	released := func(ago time.Duration) map[string]string {
		return map[string]string{contract.AnnotationAdmitted: "x",
			contract.AnnotationReleased: time.Now().Add(-ago).UTC().Format(time.RFC3339)}
	}
	for _, row := range []struct {
		name string
		make func(l *lab)
		want string
	}{
		{"what nobody knows", func(l *lab) { l.put("pods", "p", mine, "gone", time.Hour) }, "Pod p"},
		{"every kind that runs make", func(l *lab) {
			for _, kind := range []string{"pods", "services", "persistentvolumeclaims", "configmaps", "deployments", "jobs"} {
				l.put(kind, "x", mine, "gone", time.Hour)
			}
		}, "ConfigMap x, Deployment x, Job x, PersistentVolumeClaim x, Pod x, Service x"},
		{"never of another hub", func(l *lab) { l.put("pods", "p", other, "gone", time.Hour) }, ""},
		{"never what is younger than two minutes", func(l *lab) { l.put("pods", "p", mine, "gone", time.Minute) }, ""},
		{"never of a run that goes on", func(l *lab) { l.put("pods", "p", mine, "r", time.Hour); l.run("r", admitted, 0) },
			""},
		{"nor of one that waits, and is not named yet",
			func(l *lab) { l.put("pods", "p", mine, "r", time.Hour); l.run("r", nil, 0) }, ""},
		{"nor of a further attempt", func(l *lab) {
			l.put("pods", "p", mine, "r", time.Hour)
			l.run("r", released(time.Hour), time.Hour)
			l.run("r-a2", nil, 0, "r")
		}, ""},
		{"nor of one that is being released",
			func(l *lab) { l.put("pods", "p", mine, "r", time.Hour); l.run("r", admitted, time.Hour) }, ""},
		{"nor of one that was released a moment ago",
			func(l *lab) { l.put("pods", "p", mine, "r", time.Hour); l.run("r", released(time.Minute), time.Hour) }, ""},
		{"of one that was released a while ago",
			func(l *lab) { l.put("pods", "p", mine, "r", time.Hour); l.run("r", released(time.Hour), time.Hour) }, "Pod p"},
		{"of one that ended and that nobody releases, since the compiler has not marked it", func(l *lab) {
			l.put("pods", "p", mine, "r", time.Hour)
			at := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
			l.hub.Put(runsAt+"r", apitest.Object{"metadata": apitest.Object{}, "spec": apitest.Object{},
				"status": apitest.Object{
					"completionTime": at, "conditions": []any{apitest.Object{"type": "Succeeded", "status": "False",
						"lastTransitionTime": at}},
					"childReferences": []any{apitest.Object{"name": "r-provision"}}}})
		}, "Pod p"},
		{"task pods and pods of people are none", func(l *lab) {
			l.target.Put("/api/v1/namespaces/bench/pods/task",
				apitest.Object{"metadata": apitest.Object{"creationTimestamp": "2020-01-01T00:00:00Z",
					"labels": apitest.Object{contract.LabelHub: mine, contract.LabelRun: "gone"}}})
			l.target.Put("/api/v1/namespaces/bench/pods/theirs",
				apitest.Object{"metadata": apitest.Object{"creationTimestamp": "2020-01-01T00:00:00Z"}})
		}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := newLab(t)
			row.make(l)
			if got := l.leaks(); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestARunThatComesWhileWeLookKeepsWhatIsItsOwn(t *testing.T) {
	l := newLab(t)
	l.put("pods", "p", mine, "r", time.Hour)
	l.hub.Refuse(func(q apitest.Request) (int, string) {
		if q.Resource == "pipelineruns" && q.Verb == "list" { // the cache has just been asked
			l.hub.Refuse(nil)
			l.run("r", nil, 0)
		}
		return 0, ""
	})
	if got := l.leaks(); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestAnAPIServerOfTheHubThatFailsMakesNothingALeak(t *testing.T) {
	l := newLab(t)
	l.put("pods", "p", mine, "r", time.Hour)
	l.hub.Refuse(func(q apitest.Request) (int, string) { return 503, "busy" })
	leaks, err := l.h.Find(t.Context(), l.way, "lab", []string{"bench"})
	if err == nil || len(leaks) > 0 {
		t.Errorf("%v, %v", leaks, err)
	}
}

func TestANamespaceThatMayNotBeReadHidesNoOther(t *testing.T) {
	l := newLab(t)
	l.put("pods", "p", mine, "gone", time.Hour)
	l.target.Refuse(func(q apitest.Request) (int, string) {
		if q.Namespace == "secret" {
			return 403, "pods is forbidden"
		}
		return 0, ""
	})
	leaks, err := l.h.Find(t.Context(), l.way, "lab", []string{"secret", "bench"})
	if len(leaks) != 1 || err == nil || !strings.Contains(err.Error(), `namespace "secret"`) {
		t.Errorf("%v, %v", leaks, err)
	}
}

func TestTwoHubsCleanUpAfterThemselvesOnly(t *testing.T) {
	l := newLab(t)
	for i := range 5 {
		l.put("deployments", fmt.Sprint("a", i), mine, "r", time.Hour)
		l.put("deployments", fmt.Sprint("b", i), other, "r", time.Hour)
	}
	leaks, err := l.h.Find(t.Context(), l.way, "lab", []string{"bench"})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := gc.DeleteLeaks(t.Context(), l.way, leaks, func(gc.Object) { n++ }); err != nil || n != 5 {
		t.Fatalf("%d deleted, %v", n, err)
	}
	left := l.target.List("/apis/apps/v1/namespaces/bench/deployments/")
	if len(left) != 5 || !strings.HasSuffix(left[0], "/b0") {
		t.Errorf("left %v", left)
	}
}

func TestAJanitorLooksWhenATargetComesAndCountsWhatItFinds(t *testing.T) {
	l := newLab(t)
	l.hub.Put("/api/v1/namespaces/bench", apitest.Object{
		"metadata": apitest.Object{"labels": apitest.Object{contract.LabelEnabled: "true"}}})
	l.put("deployments", "d", mine, "gone", time.Hour)
	deleted := make(chan string, 1)
	l.target.OnDelete(func(q apitest.Request, _ apitest.Object) {
		l.target.Remove(q.Path)
		deleted <- q.Name
	})
	m := queuetest.Metrics(t)
	targets := target.NewRegistry()
	j := gc.NewCollector(gc.Options{Hub: l.h, Targets: targets, Metrics: m, Log: slog.New(slog.DiscardHandler),
		Clock: clock.RealClock{}})
	go j.Start(t.Context())
	targets.Put(target.Target{Name: "lab", Live: l.way})
	if name := eventually.Receive(t, "a look at the target", deleted); name != "d" ||
		testutil.ToFloat64(m.Leaked.WithLabelValues("lab")) != 1 {
		t.Errorf("deleted %q", name)
	}
}
