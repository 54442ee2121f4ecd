package capacity

import (
	"context"
	"time"

	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/queue/metrics"
	"bflow.dev/bflow/queue/run"

	"github.com/prometheus/client_golang/prometheus"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// usageInterval is how often the time of devices is added up: what a run does changes less often.
const usageInterval = 10 * time.Second

// UsageOptions are what the accountant depends on.
type UsageOptions struct {
	Metrics *metrics.Metrics
	Clock   clock.WithTicker
	// Leaked are devices by target that pods of ours hold though their run has none any more; nil = nobody looks.
	Leaked func(context.Context) map[string]devices.Amounts
}

// Accountant adds up the time of devices. It changes no run, and asks no API server: everything is in caches. It is a
// Runnable of the manager, of the leader only.
type Accountant struct {
	cache client.Reader
	o     UsageOptions
	last  time.Time
}

// SetupUsage adds the accountant to a manager.
func SetupUsage(mgr ctrl.Manager, o UsageOptions) error {
	return mgr.Add(&Accountant{cache: mgr.GetClient(), o: o})
}

// Start adds up until ctx ends.
func (a *Accountant) Start(ctx context.Context) error {
	tick := a.o.Clock.NewTicker(usageInterval)
	defer tick.Stop()
	a.last = a.o.Clock.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C():
			if err := a.add(ctx); err != nil {
				ctrl.LoggerFrom(ctx).Error(err, "adding up the time of devices")
			}
		}
	}
}

// add accounts for the time since the last call by what is true now.
func (a *Accountant) add(ctx context.Context) error {
	now := a.o.Clock.Now()
	passed := now.Sub(a.last).Seconds()
	a.last = now
	var runs tektonv1.PipelineRunList
	if err := a.cache.List(ctx, &runs, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	for i := range runs.Items {
		pr := &runs.Items[i]
		state := UseOf(pr, func(name string) *tektonv1.TaskRun { return a.task(ctx, pr.Namespace, name) })
		if state == "" {
			continue
		}
		demand, err := run.Demand(pr)
		if err != nil {
			continue // its owner reads of that where it waits
		}
		for resource, amount := range demand {
			a.count(run.Target(pr), string(resource), state, passed*float64(amount.Value()))
		}
	}
	if a.o.Leaked != nil {
		for target, amounts := range a.o.Leaked(ctx) {
			for resource, n := range amounts {
				a.count(target, resource, metrics.HoursLeaked, passed*float64(n))
			}
		}
	}
	return nil
}

func (a *Accountant) task(ctx context.Context, namespace, name string) *tektonv1.TaskRun {
	tr := &tektonv1.TaskRun{}
	if a.cache.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, tr) != nil {
		return nil
	}
	return tr
}

// count leaves out slots and products, which are other names for the same devices. All states of a resource have a
// value once one has: a rule sees a zero and no gap.
func (a *Accountant) count(target, resource, state string, seconds float64) {
	if !devices.IsDevice(resource) {
		return
	}
	for _, s := range metrics.HoursStates() {
		counter := a.o.Metrics.GPUSeconds.With(prometheus.Labels{"target": target, "resource": resource, "state": s})
		if s == state {
			counter.Add(seconds)
		}
	}
}
