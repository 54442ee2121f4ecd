package controller

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"time"

	"bflow.dev/bflow/queue/matrix"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"

	"github.com/go-logr/logr"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	tektonv1beta1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// leaseName is that of the leader's Lease.
const leaseName = "bflow-controller"

// Main runs the controller until ctx ends, and returns an exit code.
func Main(ctx context.Context, args []string, out, errOut io.Writer, compiler matrix.Compiler) int {
	o, err := Parse(args, errOut)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return contract.ExitPass
	case err != nil:
		fmt.Fprintf(errOut, "bflow-controller: %v\n", err)
		return contract.ExitUsage
	case o.Version:
		fmt.Fprintln(out, "bflow-controller", step.Version)
		return contract.ExitPass
	}
	o.Compiler = compiler
	log := slog.New(slog.NewJSONHandler(errOut, &slog.HandlerOptions{Level: o.LogLevel}))
	if err := Run(ctx, o, log); err != nil {
		log.Error("the controller ended", "error", err.Error())
		return contract.ExitFail
	}
	return contract.ExitPass
}

const (
	stopGrace = 20 * time.Second // for what is being done when the controller is told to end
	endGrace  = 25 * time.Second // for all of it; after half a minute the kubelet kills
)

// Run runs the controller until ctx ends. Losing the lease is an error: the process must end. So is whatever has not
// ended endGrace after ctx: it is left behind.
func Run(ctx context.Context, o Options, log *slog.Logger) error {
	return endsWith(ctx, endGrace, func() error { return serve(ctx, o, log) })
}

// endsWith returns what work does, or an error when that goes on for longer than grace after the end of ctx: some
// clients wait for an API server without a context.
func endsWith(ctx context.Context, grace time.Duration, work func() error) error {
	done := make(chan error, 1)
	go func() { done <- work() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	over := time.NewTimer(grace)
	defer over.Stop()
	select {
	case err := <-done:
		return err
	case <-over.C:
		return fmt.Errorf("ending: something has not ended within %s, and is left behind", grace)
	}
}

func serve(ctx context.Context, o Options, log *slog.Logger) error {
	ctrl.SetLogger(logr.FromSlogHandler(log.Handler()))
	klog.SetSlogLogger(log)
	config, err := restConfig(o.Kubeconfig)
	if err != nil {
		return err
	}
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	life, end := context.WithCancelCause(ctx)
	defer end(nil)
	config, lock, err := elected(config, o, end)
	if err != nil {
		return err
	}
	caches := &filling{limit: o.CacheTimeout, life: life, end: end, refused: map[string]error{}}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                              scheme,
		MapperProvider:                      mapper,
		Cache:                               cacheOptions(),
		NewCache:                            caches.newCache,
		NewClient:                           newClient,
		Controller:                          controllers(o),
		GracefulShutdownTimeout:             new(stopGrace),
		LeaderElection:                      o.LeaderElection,
		LeaderElectionResourceLockInterface: lock,
		LeaderElectionReleaseOnCancel:       true,
		LeaseDuration:                       &o.LeaseDuration,
		RenewDeadline:                       &o.RenewDeadline,
		RetryPeriod:                         &o.RetryPeriod,
		HealthProbeBindAddress:              o.ProbeAddress,
		PprofBindAddress:                    o.PprofAddress,
		Metrics:                             metricsserver.Options{BindAddress: o.MetricsAddress},
	})
	if err != nil {
		return fmt.Errorf("reaching the cluster: %w", err)
	}
	if err := startInformers(life, mgr.GetCache()); err != nil {
		return err
	}
	if err := setup(life, mgr, o, caches, log); err != nil {
		return err
	}
	log.Info("controller starts", "version", step.Version, "prebuilt", o.Prebuilt)
	err = mgr.Start(life)
	if cause := context.Cause(life); cause != nil && ctx.Err() == nil {
		return cause
	}
	return err
}

// controllers is what all controllers of the process have in common.
func controllers(o Options) ctrlconfig.Controller {
	return ctrlconfig.Controller{
		CacheSyncTimeout:   o.CacheTimeout,
		SkipNameValidation: new(true), // a test runs several in one process
		// The priority queue of controller-runtime 0.24 can hold its lock for good when it is shut down while it
		// hands out an item (kubernetes-sigs/controller-runtime issue 3538, mended in 0.25): the lease would be given
		// back after stopGrace only.
		UsePriorityQueue: new(false),
	}
}

// restConfig reads where the cluster is. The API server's own fairness limits us, not a guess of ours.
func restConfig(kubeconfig string) (*rest.Config, error) {
	read := rest.InClusterConfig
	if kubeconfig != "" {
		read = func() (*rest.Config, error) { return clientcmd.BuildConfigFromFlags("", kubeconfig) }
	}
	config, err := read()
	if err != nil {
		return nil, fmt.Errorf("reading where the cluster is: %w", err)
	}
	config.QPS, config.Burst = 200, 400
	config.UserAgent = "bflow-controller/" + step.Version
	return config, nil
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, tektonv1.AddToScheme,
		tektonv1beta1.AddToScheme, kueue.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("registering the kinds: %w", err)
		}
	}
	return scheme, nil
}
