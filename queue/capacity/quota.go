package capacity

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"

	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/queue/lock/history"
	"bflow.dev/bflow/queue/metrics"
	"bflow.dev/bflow/queue/target"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// QuotaReconciler writes the quota of ClusterQueues. A request names a target, which is also the name of its
// ClusterQueue and of its flavor.
type QuotaReconciler struct {
	client  client.Client
	targets *target.Registry
	hub     string
	metrics *metrics.Metrics
	log     *slog.Logger

	mu       sync.Mutex
	recorded map[string]devices.Amounts // by target: the quota that the history of locks has last
}

var _ reconcile.Reconciler = (*QuotaReconciler)(nil)

// Reconcile counts the devices of one target and writes what has changed.
func (r *QuotaReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	sight, known := r.targets.Look(req.Name)
	if !known && r.metrics != nil {
		r.metrics.ForgetTarget(req.Name)
	}
	if sight == nil || !sight.Ready() {
		return ctrl.Result{}, nil // the view tells when it is complete
	}
	queue := &kueue.ClusterQueue{}
	if err := r.client.Get(ctx, req.NamespacedName, queue); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err) // its creation is an event
	}
	owner, err := Owner(ctx, r.client, r.hub)
	if err != nil {
		return ctrl.Result{}, err
	}
	inventory, err := sight.Inventory(ctx, owner)
	if err != nil {
		return ctrl.Result{}, err
	}
	r.measure(req.Name, inventory)
	return ctrl.Result{}, r.write(ctx, queue, inventory)
}

func (r *QuotaReconciler) write(ctx context.Context, queue *kueue.ClusterQueue, inventory *devices.Inventory) error {
	groups := Groups(queue.Spec.ResourceGroups, queue.Name, inventory.Quota())
	if equality.Semantic.DeepEqual(groups, queue.Spec.ResourceGroups) {
		r.record(queue.Name, Promised(groups))
		return nil
	}
	before := queue.DeepCopy()
	queue.Spec.ResourceGroups = groups
	if err := r.client.Patch(ctx, queue, client.MergeFrom(before), client.FieldOwner("bflow-capacity")); err != nil {
		return fmt.Errorf("writing the quota of ClusterQueue %q: %w", queue.Name, err)
	}
	r.record(queue.Name, Promised(groups))
	ctrl.LoggerFrom(ctx).Info("quota changed", "target", queue.Name,
		"before", Promised(before.Spec.ResourceGroups).String(), "now", Promised(groups).String(), "lostNodes",
		strings.Join(inventory.Lost(), ", "))
	return nil
}

// record puts a quota into the history of locks, once.
func (r *QuotaReconciler) record(name string, quota devices.Amounts) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.log == nil || maps.Equal(r.recorded[name], quota) {
		return
	}
	r.recorded[name] = quota
	history.Write(r.log, history.Event{Kind: history.Quota, Hub: r.hub, Target: name, Amounts: quota})
}

func (r *QuotaReconciler) measure(target string, inventory *devices.Inventory) {
	if r.metrics == nil {
		return
	}
	r.metrics.GPUs.DeletePartialMatch(prometheus.Labels{"target": target}) // a resource may be gone
	for state, amounts := range map[string]devices.Amounts{
		metrics.GPUTotal: inventory.Total(), metrics.GPUForeign: inventory.Foreign(), metrics.GPUOurs: inventory.Ours(),
		metrics.GPULeaked: inventory.Leaked(),
	} {
		for resource := range inventory.Total() {
			if devices.IsDevice(resource) {
				r.metrics.GPUs.WithLabelValues(target, resource, state).Set(float64(amounts[resource]))
			}
		}
	}
}
