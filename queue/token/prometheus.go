package token

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/queue/access"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/queue/watch"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// failedTokenRetryDelay is when a token that could not be had is asked for again: the run goes on without, and may do
// without.
const failedTokenRetryDelay = 30 * time.Second

// Prometheus gives runs a token for the Prometheus that they ask, where an administrator has listed that server: of
// account contract.AccountMetrics, in a Secret beside the run. queue/access ends it with access to the target. An
// experiment names the server, so no other one gets a token.
type Prometheus struct {
	client client.Client
	live   client.Reader
	file   string // lists the servers
	clock  clock.PassiveClock
}

var _ reconcile.Reconciler = (*Prometheus)(nil)

// NewPrometheus makes the reconciler of runs; file lists the servers.
func NewPrometheus(c client.Client, live client.Reader, file string, clk clock.PassiveClock) *Prometheus {
	return &Prometheus{client: c, live: live, file: file, clock: clk}
}

// SetupPrometheus adds the controller to a manager.
func SetupPrometheus(mgr ctrl.Manager, file string) error {
	r := NewPrometheus(mgr.GetClient(), mgr.GetAPIReader(), file, clock.RealClock{})
	return ctrl.NewControllerManagedBy(mgr).Named("token-prometheus").
		For(&tektonv1.PipelineRun{}, builder.WithPredicates(access.Holding())).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(watch.RunsOf(r.client)),
			builder.WithPredicates(watch.Enabled())).
		WithOptions(controller.Options{RateLimiter: watch.Backoff()}).
		Complete(r)
}

// Reconcile looks after the token of one run.
func (r *Prometheus) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	pr := &tektonv1.PipelineRun{}
	if err := r.client.Get(ctx, req.NamespacedName, pr); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !needsMetrics(pr) {
		return ctrl.Result{}, nil
	}
	server, err := r.listed(pr.Annotations[contract.AnnotationMetrics])
	if err == nil && server == nil {
		return ctrl.Result{}, nil
	}
	var renew time.Time
	if err == nil {
		renew, err = r.give(ctx, pr, *server)
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).Info("a run has no token for its Prometheus", "run", run.ID(pr), "why", err.Error())
		return ctrl.Result{RequeueAfter: failedTokenRetryDelay}, nil
	}
	return ctrl.Result{RequeueAfter: max(conflictRetryDelay, renew.Sub(r.clock.Now()))}, r.sweep(ctx, pr)
}

// needsMetrics is false once the run is over: its release follows, which ends what was given before.
func needsMetrics(pr *tektonv1.PipelineRun) bool {
	return run.Ours(pr) && run.Holding(pr) && !run.Over(pr) && pr.Annotations[contract.AnnotationMetrics] != ""
}

// listed is the server of an address, nil where an administrator has listed none.
func (r *Prometheus) listed(address string) (*contract.PrometheusServer, error) {
	text, err := os.ReadFile(r.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the list of Prometheus servers: %w", err)
	}
	var all []contract.PrometheusServer
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("reading the list of Prometheus servers %s: %w", r.file, err)
	}
	i := slices.IndexFunc(all, func(s contract.PrometheusServer) bool { return sameServer(s.URL, address) })
	if i < 0 {
		return nil, nil
	}
	return &all[i], nil
}

// sameServer says whether two addresses lead over https to one server and folder.
func sameServer(a, b string) bool {
	place := func(address string) string {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return ""
		}
		port := u.Port()
		if port == "" {
			port = "443"
		}
		return strings.ToLower(u.Hostname()) + " " + port + " " + strings.TrimRight(u.EscapedPath(), "/")
	}
	return place(a) != "" && place(a) == place(b)
}

// give writes a token beside the run, and returns when it needs another one. It ends with a Secret beside the account,
// because a token is bound to nothing in another namespace.
func (r *Prometheus) give(ctx context.Context, pr *tektonv1.PipelineRun,
	server contract.PrometheusServer) (time.Time, error) {
	bond := metricsBond(pr)
	if err := r.client.Create(ctx, bond); err != nil && !apierrors.IsAlreadyExists(err) {
		return time.Time{},
			fmt.Errorf("making what its token is bound to, Secret %s in %s: %w; bflow bootstrap repairs the rights", bond.Name,
				bond.Namespace, err)
	}
	seconds := int64(TokenLifetime.Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds,
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Secret", Name: bond.Name}}}
	if server.Audience != "" {
		request.Spec.Audiences = []string{server.Audience}
	}
	now := r.clock.Now()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: contract.NamespaceSystem,
		Name: contract.AccountMetrics}}
	if err := r.client.SubResource("token").Create(ctx, account, request); err != nil {
		return time.Time{},
			fmt.Errorf("making a token of account %s: %w; bflow bootstrap makes the account and repairs the rights",
				contract.AccountMetrics, err)
	}
	holds := metricsSecret(pr)
	holds.Data = map[string][]byte{contract.KeyURL: []byte(pr.Annotations[contract.AnnotationMetrics]),
		contract.KeyToken: []byte(request.Status.Token)}
	if server.CA != "" {
		holds.Data[contract.KeyCA] = []byte(server.CA)
	}
	if _, err := access.Replace(ctx, r.client, holds); err != nil {
		return time.Time{}, fmt.Errorf("writing Secret %s: %w", holds.Name, err)
	}
	return target.HalfLife(now, request.Status.ExpirationTimestamp.Time), nil
}

// sweep ends a token that was made while the run was released.
func (r *Prometheus) sweep(ctx context.Context, pr *tektonv1.PipelineRun) error {
	now := &tektonv1.PipelineRun{}
	err := r.live.Get(ctx, client.ObjectKeyFromObject(pr), now)
	switch {
	case apierrors.IsNotFound(err) || err == nil && now.UID != pr.UID:
		// what lies beside it goes with the run that is gone
		return client.IgnoreNotFound(r.client.Delete(ctx, metricsBond(pr)))
	case err != nil:
		return fmt.Errorf("reading run %q: %w", pr.Name, err)
	case needsMetrics(now):
		return nil
	}
	return access.EndMetrics(ctx, r.client, pr)
}

// metricsBond belongs to the installation, as what lies beside it does: it outlives nothing of a run.
func metricsBond(pr *tektonv1.PipelineRun) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: contract.MetricsBond(string(pr.UID)),
		Namespace: contract.NamespaceSystem,
		Labels:    map[string]string{contract.LabelManagedBy: contract.ManagedBy, contract.LabelPart: contract.PartBflow}}}
}

func metricsSecret(pr *tektonv1.PipelineRun) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: contract.MetricsSecret(run.ID(pr)), Namespace: pr.Namespace,
		Labels:          map[string]string{contract.LabelManagedBy: contract.ManagedBy},
		OwnerReferences: []metav1.OwnerReference{run.Owner(pr)},
	}}
}
