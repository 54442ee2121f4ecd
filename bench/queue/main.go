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
	bflow, kwok         string
	hub, worker         string // kubeconfigs
	namespace           string
	targets, count      int
	nodes, gpus, demand int
	limit               time.Duration
	keep                bool
}

// command is the program; its exit code is 1 when a goal is missed, 2 when nothing could be measured.
func command(ctx context.Context, args []string, out, errs io.Writer) int {
	fs := flag.NewFlagSet("queue", flag.ContinueOnError)
	fs.SetOutput(errs)
	var o options
	fs.StringVar(&o.bflow, "bflow", "bin/bflow", "path to bflow")
	fs.StringVar(&o.kwok, "kwok", "bin/kwok", "path to kwok, which simulates nodes")
	fs.StringVar(&o.hub, "hub", os.Getenv("KUBECONFIG"), "kubeconfig of the cluster with Kueue and bflow")
	fs.StringVar(&o.worker, "worker", os.Getenv("BFLOW_E2E_WORKER_KUBECONFIG"),
		"kubeconfig of the cluster to split into targets")
	fs.StringVar(&o.namespace, "namespace", "benchflow", "namespace of the runs")
	fs.IntVar(&o.targets, "targets", 20, "targets, each a slice of the worker")
	fs.IntVar(&o.count, "runs", 5000, "number of runs, and of Jobs")
	fs.IntVar(&o.nodes, "nodes", 4, "nodes per target")
	fs.IntVar(&o.gpus, "gpus", 8, "GPUs per node")
	fs.IntVar(&o.demand, "demand", 4, "GPUs per run")
	fs.DurationVar(&o.limit, "limit", 40*time.Minute, "timeout of one side")
	fs.BoolVar(&o.keep, "keep", false, "keep the targets, for inspection")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	good, err := compare(ctx, o, out, errs)
	switch {
	case err != nil:
		fmt.Fprintf(errs, "queue: %v\n", err)
		return 2
	case !good:
		return 1
	}
	return 0
}

// compare measures Jobs, then runs, and prints the table; false when a goal is missed.
func compare(ctx context.Context, o options, out, errs io.Writer) (good bool, err error) {
	if o.targets < 1 || o.count < o.targets || o.demand < 1 || o.demand > o.gpus {
		return false, errors.New("measuring: want at least one target, one run each, and a demand that a node can hold")
	}
	l, err := newLab(o, errs)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	if err := l.build(ctx); err != nil {
		return false, err
	}
	jobs, err := l.measure(ctx, jobSide(o))
	if err != nil {
		return false, err
	}
	runs, err := l.measure(ctx, runSide(o))
	if err != nil {
		return false, err
	}
	return table(out, o, jobs, runs), nil
}
