package token

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bflow.dev/bflow/queue/access"
	"bflow.dev/bflow/queue/queuetest"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/pkg/apis"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

const (
	listedURL  = "https://thanos.example:9091"
	authority  = "PEM"
	ofThanos   = "thanos"
	systemName = "bflow-system"
)

// metricsWorld is an API server with run r, and the controller.
type metricsWorld struct {
	*queuetest.World
	r     *Prometheus
	asked []*authenticationv1.TokenRequest
	bound types.NamespacedName // what the last token is bound to
}

func newMetricsWorld(t *testing.T, pr *tektonv1.PipelineRun) *metricsWorld {
	t.Helper()
	w := &metricsWorld{World: queuetest.New(t, time.Unix(1000, 0), pr)}
	w.Client = interceptor.NewClient(w.Client, interceptor.Funcs{
		SubResourceCreate: func(ctx context.Context, c client.Client, of string, o, sub client.Object,
			_ ...client.SubResourceCreateOption) error {
			if of != "token" || o.GetNamespace() != systemName || o.GetName() != contract.AccountMetrics {
				t.Errorf("asked for %s of %s/%s", of, o.GetNamespace(), o.GetName())
			}
			ask := sub.(*authenticationv1.TokenRequest)
			w.asked = append(w.asked, ask)
			if to := ask.Spec.BoundObjectRef; to != nil {
				w.bound = types.NamespacedName{Namespace: o.GetNamespace(), Name: to.Name}
				if err := c.Get(ctx, w.bound, &corev1.Secret{}); err != nil {
					return err
				}
			}
			ask.Status.Token = "token"
			ask.Status.ExpirationTimestamp = metav1.NewTime(w.Clock.Now().Add(
				time.Duration(*ask.Spec.ExpirationSeconds) * time.Second))
			return nil
		},
	})
	text, err := json.Marshal([]contract.PrometheusServer{{URL: "https://other.example"},
		{URL: listedURL + "/", Audience: ofThanos, CA: authority}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), contract.PrometheusKey)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	w.r = NewPrometheus(w.Client, w.Client, file, w.Clock)
	return w
}

func (w *metricsWorld) look(t *testing.T) time.Duration {
	t.Helper()
	r, err := w.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: ns, Name: "r"}})
	if err != nil {
		t.Fatal(err)
	}
	return r.RequeueAfter
}

// holds is what lies beside the run, nil for nothing.
func (w *metricsWorld) holds(t *testing.T) map[string][]byte {
	t.Helper()
	s := &corev1.Secret{}
	if err := client.IgnoreNotFound(w.Client.Get(t.Context(),
		client.ObjectKey{Namespace: ns, Name: contract.MetricsSecret("r")}, s)); err != nil {
		t.Fatal(err)
	}
	return s.Data
}

// valid says whether the API server takes the last token: what it is bound to is still there.
func (w *metricsWorld) valid(t *testing.T) bool {
	t.Helper()
	bond := &corev1.Secret{}
	err := w.Client.Get(t.Context(), w.bound, bond)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	if len(bond.Data) > 0 {
		t.Errorf("what tokens are bound to holds %d keys", len(bond.Data))
	}
	return err == nil && w.bound.Name != ""
}

func makeRun(edits ...func(*tektonv1.PipelineRun)) *tektonv1.PipelineRun {
	pr := &tektonv1.PipelineRun{ObjectMeta: metav1.ObjectMeta{Name: "r", Namespace: ns, UID: "u",
		Labels: map[string]string{contract.LabelPlanHash: "h", contract.LabelQueue: "local",
			contract.LabelTarget: "local"},
		Annotations: map[string]string{contract.AnnotationAdmitted: "then", contract.AnnotationMetrics: listedURL}}}
	for _, edit := range edits {
		edit(pr)
	}
	return pr
}

func TestARunHasATokenForTheServerThatIsListed(t *testing.T) {
	pr := makeRun()
	w := newMetricsWorld(t, pr)
	if after := w.look(t); after != TokenLifetime/2 {
		t.Errorf("renewed after %s", after)
	}
	data := w.holds(t)
	if string(data[contract.KeyURL]) != listedURL || string(data[contract.KeyToken]) != "token" ||
		string(data[contract.KeyCA]) != authority {
		t.Errorf("beside the run lies %s", data)
	}
	if spec := w.asked[0].Spec; len(spec.Audiences) != 1 || spec.Audiences[0] != ofThanos ||
		*spec.ExpirationSeconds > 3600 {
		t.Errorf("asked for %+v", spec)
	}
	w.Clock.Step(TokenLifetime / 2)
	w.look(t)
	if len(w.asked) != 2 || !w.valid(t) {
		t.Errorf("after half of its life %d tokens were made; the last is valid: %v", len(w.asked), w.valid(t))
	}
	if err := access.NewKeeper(w.Client, target.NewRegistry()).End(t.Context(), pr); err != nil {
		t.Fatal(err)
	}
	if w.holds(t) != nil || w.valid(t) {
		t.Errorf("it outlives the release of the run: %s lies there, valid: %v", w.holds(t), w.valid(t))
	}
}

// TestATokenWithoutAnAudienceIsForTheAPIServer, as the Thanos of OpenShift wants it.
func TestATokenWithoutAnAudienceIsForTheAPIServer(t *testing.T) {
	w := newMetricsWorld(t,
		makeRun(func(pr *tektonv1.PipelineRun) { pr.Annotations[contract.AnnotationMetrics] = "https://other.example" }))
	w.look(t)
	if len(w.asked) != 1 || w.asked[0].Spec.Audiences != nil {
		t.Errorf("asked for %+v", w.asked)
	}
	if data := w.holds(t); len(data[contract.KeyToken]) == 0 || data[contract.KeyCA] != nil {
		t.Errorf("beside the run lies %s", data)
	}
}

func TestWhoGetsNoTokenForPrometheus(t *testing.T) {
	asks := func(address string) func(*tektonv1.PipelineRun) {
		return func(pr *tektonv1.PipelineRun) { pr.Annotations[contract.AnnotationMetrics] = address }
	}
	for _, row := range []struct {
		name string
		edit func(*tektonv1.PipelineRun)
	}{
		{"a server that nobody listed", asks("https://evil.example")},
		{"a listed one under another port", asks("https://thanos.example")},
		{"a listed one in clear text", asks("http://thanos.example:9091")},
		{"a listed one in another folder", asks(listedURL + "/evil")},
		{"a listed one as the name of a person", asks("https://thanos.example:9091@evil.example")},
		{"nothing that is an address", asks("://")},
		{"a run that waits", func(pr *tektonv1.PipelineRun) { delete(pr.Annotations, contract.AnnotationAdmitted) }},
		{"a run that is over", func(pr *tektonv1.PipelineRun) {
			pr.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: corev1.ConditionTrue})
		}},
		{"a run that is released", func(pr *tektonv1.PipelineRun) { pr.Annotations[contract.AnnotationReleased] = "then" }},
		{"a PipelineRun that is no run", func(pr *tektonv1.PipelineRun) { pr.Labels = nil }},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newMetricsWorld(t, makeRun(row.edit))
			if after := w.look(t); after != 0 || w.holds(t) != nil || len(w.asked) > 0 {
				t.Errorf("%d tokens were made, %s lies there, again after %s", len(w.asked), w.holds(t), after)
			}
		})
	}
}

// TestATokenThatMeetsTheReleaseIsTakenAway: a cache that is behind does not know yet that the run is over.
func TestATokenThatMeetsTheReleaseIsTakenAway(t *testing.T) {
	over := makeRun(func(pr *tektonv1.PipelineRun) { pr.Annotations[contract.AnnotationReleased] = "then" })
	w, behind := newMetricsWorld(t, over), newMetricsWorld(t, makeRun())
	w.r.client = interceptor.NewClient(w.Client, interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			return behind.Client.Get(ctx, key, o, opts...)
		},
	})
	w.look(t)
	if len(w.asked) != 1 || w.holds(t) != nil || w.valid(t) {
		t.Errorf("%d tokens were made; beside the run lies %s; the last is valid: %v", len(w.asked), w.holds(t), w.valid(t))
	}
}

// TestATokenOfARunThatIsGoneEnds: what it is bound to lies in another namespace, and does not go with the run.
func TestATokenOfARunThatIsGoneEnds(t *testing.T) {
	gone := makeRun()
	w, behind := newMetricsWorld(t, gone), newMetricsWorld(t, makeRun())
	if err := w.Client.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	w.r.client = interceptor.NewClient(w.Client, interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			return behind.Client.Get(ctx, key, o, opts...)
		},
	})
	w.look(t)
	if len(w.asked) != 1 || w.valid(t) {
		t.Errorf("%d tokens were made; the last is valid: %v", len(w.asked), w.valid(t))
	}
}

func TestAListThatCannotBeReadKeepsNoRun(t *testing.T) {
	w := newMetricsWorld(t, makeRun())
	if err := os.WriteFile(w.r.file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if after := w.look(t); after != failedTokenRetryDelay {
		t.Errorf("looked at again after %s", after)
	}
	if err := os.Remove(w.r.file); err != nil {
		t.Fatal(err)
	}
	if _, err := w.r.listed(listedURL); err != nil {
		t.Errorf("no list at all: %v", err)
	}
}
