// Package controller assembles the reconcilers into one process: flags, caches, leader election, probes, metrics,
// logs. It decides nothing about runs.
package controller

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"time"

	"bflow.dev/bflow/queue/matrix"
	"bflow.dev/bflow/queue/release"
	"bflow.dev/bflow/queue/retention"
	"bflow.dev/bflow/runplan/contract"
)

// Options are the flags of the controller, and what its main provides.
type Options struct {
	Kubeconfig      string
	SystemNamespace string
	CacheTimeout    time.Duration
	LeaderElection  bool
	LeaseDuration   time.Duration
	RenewDeadline   time.Duration
	RetryPeriod     time.Duration
	MetricsAddress  string
	ProbeAddress    string
	PprofAddress    string
	Prebuilt        bool
	ForceAfter      time.Duration
	Prometheus      string // file with the servers that get a token; see contract.ConfigMapPrometheus
	Keep            retention.Keep
	LogLevel        slog.Level
	Version         bool

	Compiler matrix.Compiler // no flag
}

// cacheTimeout is longer than the kubelet remembers that a container has ended: after an end that comes sooner it waits
// before it starts the next one, at last for five minutes, and what has come back meanwhile would not be noticed.
const cacheTimeout = 11 * time.Minute

// Flags are the flags of bflow-controller.
func Flags(o *Options, errOut io.Writer) *flag.FlagSet {
	fs := flag.NewFlagSet("bflow-controller", flag.ContinueOnError)
	fs.SetOutput(errOut)
	fs.StringVar(&o.Kubeconfig, "kubeconfig", "", "path to the kubeconfig `file`; if empty, use the pod's service account")
	fs.StringVar(&o.SystemNamespace, "system-namespace", contract.NamespaceSystem,
		"`namespace` of the controller and its Lease")
	fs.DurationVar(&o.CacheTimeout, "cache-timeout", cacheTimeout,
		"how `long` to wait for the caches to sync before exiting with an error that names what could not be read")
	fs.BoolVar(&o.LeaderElection, "leader-elect", true, "use leader election, so that several replicas can run")
	fs.DurationVar(&o.LeaseDuration, "lease-duration", 15*time.Second,
		"how `long` other replicas wait after the last renewal of the Lease before they take over")
	fs.DurationVar(&o.RenewDeadline, "renew-deadline", 10*time.Second,
		"how `long` the leader retries renewing its Lease before it exits; less than --lease-duration")
	fs.DurationVar(&o.RetryPeriod, "retry-period", 2*time.Second,
		"how `often` replicas try to acquire or renew the Lease; less than --renew-deadline")
	fs.StringVar(&o.MetricsAddress, "metrics-address", ":8080", "`address` to serve /metrics on; 0 to disable")
	fs.StringVar(&o.ProbeAddress, "probe-address", ":8081", "`address` to serve /healthz and /readyz on; 0 to disable")
	fs.StringVar(&o.PprofAddress, "pprof-address", "0", "`address` to serve /debug/pprof on, for profiling; 0 to disable")
	fs.BoolVar(&o.Prebuilt, "prebuilt-workloads", false,
		"create the Workloads of runs in the controller and remove the queue label from runs: for a Kueue that manages pods")
	fs.DurationVar(&o.ForceAfter, "force-after", release.ForceAfter,
		"how `long` an ended run keeps its quota while some of its objects cannot be deleted")
	fs.StringVar(&o.Prometheus, "prometheus-file", "/etc/bflow/prometheus/"+contract.PrometheusKey,
		"`file` that lists the Prometheus servers to mint tokens for; may be absent")
	keep := retention.Defaults()
	fs.TextVar(&o.Keep.Pods, "keep-pods", keep.Pods,
		"how `long` to keep the pods of tasks after their run ends: a duration, or forever")
	fs.TextVar(&o.Keep.Volumes, "keep-volumes", keep.Volumes,
		"how `long` to keep the volume of a run after it ends, once its results are fetched or pushed")
	fs.TextVar(&o.Keep.Runs, "keep-runs", keep.Runs,
		"how `long` to keep a run after it ends, once its results are fetched or pushed; an experiment can override this")
	fs.TextVar(&o.Keep.Servers, "keep-servers", keep.Servers,
		"how `long` a model server may stay after its run at most, where an experiment does not remove it")
	fs.TextVar(&o.LogLevel, "log-level", slog.LevelInfo, "log `level`: debug, info, warn or error")
	fs.BoolVar(&o.Version, "version", false, "print the version")
	return fs
}

// Parse reads args.
func Parse(args []string, errOut io.Writer) (Options, error) {
	var o Options
	fs := Flags(&o, errOut)
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	return o, nil
}
