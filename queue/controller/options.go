// Package controller puts the reconcilers of runs together into one process: flags, caches, leader election, probes,
// metrics, logs. It decides nothing about runs.
package controller

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"time"

	"bflow.dev/bflow/queue/release"
	"bflow.dev/bflow/queue/retention"
	"bflow.dev/bflow/runplan/contract"
)

// Options are the flags of the controller.
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
}

// cacheTimeout is longer than the kubelet remembers that a container has ended: after an end that comes sooner it waits
// before it starts the next one, at last for five minutes, and what has come back meanwhile would not be noticed.
const cacheTimeout = 11 * time.Minute

// Flags are the flags of bflow-controller.
func Flags(o *Options, errOut io.Writer) *flag.FlagSet {
	fs := flag.NewFlagSet("bflow-controller", flag.ContinueOnError)
	fs.SetOutput(errOut)
	fs.StringVar(&o.Kubeconfig, "kubeconfig", "", "kubeconfig `file`; empty for the account of the pod")
	fs.StringVar(&o.SystemNamespace, "system-namespace", contract.NamespaceSystem, "`namespace` of the controller and its lease")
	fs.DurationVar(&o.CacheTimeout, "cache-timeout", cacheTimeout, "how `long` the caches may take to fill before the process ends, with a sentence that says what it could not read")
	fs.BoolVar(&o.LeaderElection, "leader-elect", true, "work only while holding the lease, so that several replicas may run")
	fs.DurationVar(&o.LeaseDuration, "lease-duration", 15*time.Second, "how `long` after the leader was last heard of another replica waits before it leads")
	fs.DurationVar(&o.RenewDeadline, "renew-deadline", 10*time.Second, "how `long` a leader tries to renew its lease before it ends; less than --lease-duration")
	fs.DurationVar(&o.RetryPeriod, "retry-period", 2*time.Second, "how `often` replicas ask for the lease; less than --renew-deadline")
	fs.StringVar(&o.MetricsAddress, "metrics-address", ":8080", "`address` of /metrics; 0 for none")
	fs.StringVar(&o.ProbeAddress, "probe-address", ":8081", "`address` of /healthz and /readyz; 0 for none")
	fs.StringVar(&o.PprofAddress, "pprof-address", "0", "`address` of /debug/pprof, for nobody but who looks for lost time; 0 for none")
	fs.BoolVar(&o.Prebuilt, "prebuilt-workloads", false, "make the Workloads of runs here and take the queue label off them: for a Kueue that manages pods")
	fs.DurationVar(&o.ForceAfter, "force-after", release.ForceAfter, "how `long` an ended run keeps its quota when something of it cannot be removed")
	fs.StringVar(&o.Prometheus, "prometheus-file", "/etc/bflow/prometheus/"+contract.PrometheusKey, "`file` that lists the Prometheus servers which get a token; it need not be there")
	keep := retention.Defaults()
	fs.TextVar(&o.Keep.Pods, "keep-pods", keep.Pods, "how `long` pods of tasks are kept after the end of their run, a duration or forever")
	fs.TextVar(&o.Keep.Volumes, "keep-volumes", keep.Volumes, "how `long` a volume is kept after the end of its run whose results were fetched or pushed")
	fs.TextVar(&o.Keep.Runs, "keep-runs", keep.Runs, "how `long` a run whose results were fetched or pushed is kept after its end, where its experiment does not say")
	fs.TextVar(&o.LogLevel, "log-level", slog.LevelInfo, "`level` of the log: debug, info, warn or error")
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
