package queuetest

import (
	"testing"
	"time"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/queue/metrics"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	"github.com/prometheus/client_golang/prometheus"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	tektonv1beta1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// Namespace is the namespace of runs.
const Namespace = "bench"

// World is a cluster in memory, and a clock that only the test moves.
type World struct {
	T      testing.TB
	Client client.WithWatch
	Clock  *clocktesting.FakeClock
}

// New makes a world at a time with some objects.
func New(t testing.TB, now time.Time, objects ...client.Object) *World {
	t.Helper()
	return With(t, now, Builder(t).WithObjects(objects...).Build())
}

// With makes a world over a client: one that fails at times, or that has more indexes.
func With(t testing.TB, now time.Time, c client.WithWatch) *World {
	return &World{T: t, Client: c, Clock: clocktesting.NewFakeClock(now)}
}

// Scheme knows all kinds that the queue has to do with.
func Scheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		// those of all of Kubernetes would take most of the time of many tests
		corev1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme, coordinationv1.AddToScheme, schedulingv1.AddToScheme,
		authenticationv1.AddToScheme, tektonv1.AddToScheme, tektonv1beta1.AddToScheme, kueue.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// Builder begins an API server in memory that has the indexes of runs.
func Builder(t testing.TB) *fake.ClientBuilder {
	t.Helper()
	return fake.NewClientBuilder().WithScheme(Scheme(t)).
		WithIndex(&tektonv1.PipelineRun{}, run.Index, run.IndexOf).WithIndex(&tektonv1.PipelineRun{}, run.IndexID, run.IDOf)
}

// Connect makes a client of an API server that speaks HTTP.
func Connect(t testing.TB, s *apitest.Server) client.Client {
	t.Helper()
	config := s.Config()
	config.ContentType = runtime.ContentTypeJSON
	c, err := client.New(config, client.Options{Scheme: Scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Metrics makes instruments that nobody scrapes.
func Metrics(t testing.TB) *metrics.Metrics {
	t.Helper()
	m, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// RunNamespace is Namespace as an object, with the label of namespaces for runs.
func RunNamespace() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace,
		Labels: map[string]string{contract.LabelEnabled: "true"}}}
}

// Must ends the test where there is an error.
func (w *World) Must(err error) {
	w.T.Helper()
	if err != nil {
		w.T.Fatal(err)
	}
}

// Create makes objects.
func (w *World) Create(objects ...client.Object) {
	w.T.Helper()
	for _, o := range objects {
		w.Must(w.Client.Create(w.T.Context(), o))
	}
}

// Get reads an object of Namespace into o.
func (w *World) Get(o client.Object, name string) {
	w.T.Helper()
	w.Must(w.Client.Get(w.T.Context(), client.ObjectKey{Namespace: Namespace, Name: name}, o))
}

// Run reads a PipelineRun.
func (w *World) Run(name string) *tektonv1.PipelineRun {
	w.T.Helper()
	pr := &tektonv1.PipelineRun{}
	w.Get(pr, name)
	return pr
}

// EditRun changes a PipelineRun.
func (w *World) EditRun(name string, change func(*tektonv1.PipelineRun)) {
	w.T.Helper()
	pr := w.Run(name)
	before := client.MergeFrom(pr.DeepCopy())
	change(pr)
	w.Must(w.Client.Patch(w.T.Context(), pr, before))
}

// Workloads reads all of them.
func (w *World) Workloads() []kueue.Workload {
	w.T.Helper()
	var all kueue.WorkloadList
	w.Must(w.Client.List(w.T.Context(), &all))
	return all.Items
}
