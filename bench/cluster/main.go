package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(command(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// options are the flags.
type options struct {
	bflow, kubeconfig, namespace string
	lock, bundle, loadCPU        string
	runs                         int
	limit, pause                 time.Duration
}

// command is the program; its exit code is 1 when bflow costs too much, 2 when nothing could be compared.
func command(ctx context.Context, args []string, out, errs io.Writer) int {
	fs := flag.NewFlagSet("cluster", flag.ContinueOnError)
	fs.SetOutput(errs)
	var o options
	fs.StringVar(&o.bflow, "bflow", "bin/bflow", "path to bflow")
	fs.StringVar(&o.kubeconfig, "kubeconfig", "", "path to the kubeconfig (default: $KUBECONFIG, then ~/.kube/config)")
	fs.StringVar(&o.namespace, "namespace", "benchflow", "namespace of the runs")
	fs.StringVar(&o.lock, "lock", os.Getenv("BFLOW_E2E_LOCK"), "images.lock.yaml; empty = the images of the installation")
	fs.StringVar(&o.bundle, "bundle", os.Getenv("BFLOW_E2E_BUNDLE"),
		"REF@sha256:... of the bundle; empty = emit Tasks with the run")
	fs.StringVar(&o.loadCPU, "load-cpu", "200m", "CPU request of load-gen, on both sides")
	fs.IntVar(&o.runs, "runs", 5, "measured runs per side")
	fs.DurationVar(&o.limit, "limit", 10*time.Minute, "timeout of one run, including its time in the queue")
	fs.DurationVar(&o.pause, "pause", 3*time.Second, "pause between runs")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	good, err := compare(ctx, o, out, errs)
	switch {
	case err != nil:
		fmt.Fprintf(errs, "cluster: %v\n", err)
		return 2
	case !good:
		return 1
	}
	return 0
}

// compare measures both in turns and prints the table; false when bflow costs too much.
func compare(ctx context.Context, o options, out, errs io.Writer) (good bool, err error) {
	if o.runs < 1 {
		return false, errors.New("measuring: -runs must be at least 1")
	}
	l, err := newLab(ctx, o, errs)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	fmt.Fprintln(errs, "one of each ahead, which is not measured")
	if _, err := l.ours(ctx); err != nil {
		return false, err
	}
	if _, err := l.minimal(ctx); err != nil {
		return false, err
	}
	var ours, minimal []*measured
	for i := range o.runs {
		a, err := l.ours(ctx)
		if err != nil {
			return false, err
		}
		b, err := l.minimal(ctx)
		if err != nil {
			return false, err
		}
		ours, minimal = append(ours, a), append(minimal, b)
		fmt.Fprintf(errs, "%d of %d: bflow %s, minimal %s\n", i+1, o.runs, seconds(a.cost()), seconds(b.cost()))
	}
	return table(out, ours, minimal), nil
}
