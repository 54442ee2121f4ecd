package controller

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"bflow.dev/bflow/queue"
	"bflow.dev/bflow/queue/access"
	"bflow.dev/bflow/queue/capacity"
	"bflow.dev/bflow/queue/check"
	"bflow.dev/bflow/queue/devices/view"
	"bflow.dev/bflow/queue/gc"
	"bflow.dev/bflow/queue/lock/keeper"
	"bflow.dev/bflow/queue/matrix"
	"bflow.dev/bflow/queue/metrics"
	"bflow.dev/bflow/queue/placement"
	"bflow.dev/bflow/queue/release"
	"bflow.dev/bflow/queue/retention"
	"bflow.dev/bflow/queue/retry"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/queue/target/remote"
	"bflow.dev/bflow/queue/token"
	"bflow.dev/bflow/queue/waiting"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// setup registers every reconciler.
func setup(ctx context.Context, mgr ctrl.Manager, o Options, caches *filling, log *slog.Logger) error {
	instruments, err := instruments(mgr)
	if err != nil {
		return err
	}
	live, hub, err := pastCaches(ctx, mgr, o.CacheTimeout)
	if err != nil {
		return err
	}
	targets, sight, err := atHome(mgr, live)
	if err != nil {
		return err
	}
	grants := access.NewKeeper(mgr.GetClient(), targets)
	var real clock.RealClock
	locks := keeper.New(keeper.Options{Hub: hub, Targets: targets, Cache: mgr.GetClient(), Live: mgr.GetAPIReader(),
		Log: log, Clock: real})
	for _, part := range []struct {
		name  string
		setup func() error
	}{
		{"indexes", func() error { return run.SetupIndexes(ctx, mgr.GetFieldIndexer()) }},
		{"admission", func() error {
			return queue.SetupAdmission(ctx, mgr, queue.Options{Targets: targets, Access: grants, Live: live,
				Gate: matrix.NewGate(live), Locks: locks, Hub: hub, Metrics: instruments, Log: log, Clock: real,
				Prebuilt: o.Prebuilt})
		}},
		{"release", func() error {
			return release.Setup(ctx, mgr, release.Options{Targets: targets, Access: grants, Hub: hub, Metrics: instruments,
				Log: log, Clock: real, ForceAfter: o.ForceAfter, KeepServers: time.Duration(o.Keep.Servers)})
		}},
		{"targets", func() error { return remote.Setup(ctx, mgr, targets, o.SystemNamespace) }},
		{"garbage collection", func() error {
			return mgr.Add(collectorOf(mgr, hub, gc.Options{Targets: targets, Metrics: instruments, Log: log, Clock: real}))
		}},
		{"locks of targets", func() error { return mgr.Add(locks) }},
		{"access to targets", func() error { return access.Setup(mgr, grants) }},
		{"waiting", func() error { return waiting.Setup(mgr, instruments) }},
		{"retry", func() error { return retry.Setup(mgr, instruments, log) }},
		{"matrices, and what ended runs keep", func() error { return setupMatrices(ctx, mgr, o, log) }},
		{"tokens of tasks", func() error { return token.Setup(mgr, log) }},
		{"tokens for Prometheus", func() error { return token.SetupPrometheus(mgr, o.Prometheus) }},
		{"unschedulable tasks", func() error { return placement.SetupTasks(mgr, log) }},
		{"view of the target", func() error { return mgr.Add(sight) }},
		{"capacity", func() error {
			return capacity.SetupQuota(mgr, capacity.Options{Targets: targets, Hub: hub, Metrics: instruments, Log: log})
		}},
		{"check", func() error {
			return check.Setup(ctx, mgr, check.Options{Targets: targets, Hub: hub, Locks: locks, Metrics: instruments})
		}},
		{"Workloads that are too big", func() error {
			return placement.SetupWorkloads(mgr, placement.Options{Targets: targets, Hub: hub, Log: log})
		}},
		{"usage of devices", func() error {
			return capacity.SetupUsage(mgr, capacity.UsageOptions{Metrics: instruments, Clock: real,
				Leaked: capacity.LeakedOf(mgr.GetClient(), targets, hub)})
		}},
		{"the choice of targets", func() error { return placement.SetupTargets(mgr, targets, hub) }},
		{"status of targets", func() error { return capacity.SetupStatus(mgr, targets, hub) }},
		{"probes", func() error { return probes(mgr, caches) }},
	} {
		if err := part.setup(); err != nil {
			return fmt.Errorf("setting up %s: %w", part.name, err)
		}
	}
	return nil
}

// setupMatrices registers those who look after matrices: until they end, and after that with all that has ended.
func setupMatrices(ctx context.Context, mgr ctrl.Manager, o Options, log *slog.Logger) error {
	matrices, err := matrix.Watch(mgr)
	if err != nil {
		return err
	}
	if err := matrix.Setup(ctx, mgr, matrices, o.Compiler, log); err != nil {
		return err
	}
	return retention.Setup(mgr, matrices, o.Keep, log)
}

// pastCaches is a client without a cache, for what decides about a quota, and the identity of the hub.
func pastCaches(ctx context.Context, mgr ctrl.Manager, timeout time.Duration) (live client.Client, hub string,
	err error) {
	live, err = client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(),
		Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return nil, "", fmt.Errorf("making a client: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		if hub, err = hubIdentity(ctx, live); err == nil {
			return live, hub, nil
		}
		select {
		case <-time.After(hubIdentityRetryDelay):
		case <-ctx.Done():
			return nil, "", err
		}
	}
}

// hubIdentityRetryDelay is how often an API server that does not answer, or refuses, is asked for the identity of the
// hub.
const hubIdentityRetryDelay = 2 * time.Second

// atHome are the targets as they are at first: the hub itself, and what is seen of it.
func atHome(mgr ctrl.Manager, live client.Client) (*target.Registry, *view.Target, error) {
	targets := target.NewRegistry()
	sight, err := view.New(mgr.GetConfig(), contract.TargetLocal, func() { targets.Tell(contract.TargetLocal) })
	if err != nil {
		return nil, nil, fmt.Errorf("looking at target %q: %w", contract.TargetLocal, err)
	}
	targets.Put(target.Local(live, sight))
	return targets, sight, nil
}

// collectorOf makes the garbage collection of targets.
func collectorOf(mgr ctrl.Manager, hub string, o gc.Options) *gc.Collector {
	o.Hub = gc.Hub{ID: hub, Cache: mgr.GetClient(), Live: mgr.GetAPIReader(), Now: o.Clock.Now}
	return gc.NewCollector(o)
}

// hubIdentity is what marks our objects on targets that other hubs use too.
func hubIdentity(ctx context.Context, live client.Reader) (string, error) {
	system := &corev1.Namespace{}
	if err := live.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, system); err != nil {
		return "", fmt.Errorf("reading the identity of the hub: %w", err)
	}
	return string(system.UID), nil
}

func instruments(mgr ctrl.Manager) (*metrics.Metrics, error) {
	made, err := metrics.New(ctrlmetrics.Registry)
	if err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	if err := ctrlmetrics.Registry.Register(metrics.NewRunsCollector(
		func() (map[string]int, error) { return countRuns(mgr.GetClient()) })); err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	return made, nil
}

func countRuns(c client.Reader) (map[string]int, error) {
	var runs tektonv1.PipelineRunList
	if err := c.List(context.Background(), &runs, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("counting runs: %w", err)
	}
	counts := map[string]int{}
	for i := range runs.Items {
		counts[run.State(&runs.Items[i])]++
	}
	return counts, nil
}

// probes answer alive until the process gives up, and ready when the caches are filled, whether or not this replica
// leads.
func probes(mgr ctrl.Manager, caches *filling) error {
	if err := mgr.AddHealthzCheck("alive", caches.alive); err != nil {
		return err
	}
	return mgr.AddReadyzCheck("caches", caches.ready)
}
