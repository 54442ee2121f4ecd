package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"bflow.dev/bflow/bench/rig"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(command(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// command is the program; its exit code is 1 when another tool is ahead, 2 when nothing could be compared.
func command(ctx context.Context, args []string, out, errs io.Writer) int {
	fs := flag.NewFlagSet("peers", flag.ContinueOnError)
	fs.SetOutput(errs)
	var o options
	fs.StringVar(&o.tools, "tools", "guidellm,aiperf,inference-perf", "tools to compare with")
	fs.StringVar(&o.loads, "loads", "", "names of the loads to run; empty = all")
	fs.StringVar(&o.venvs, "venvs", os.Getenv("BFLOW_PEERS"),
		"folder of virtual environments, one per tool name; missing ones are created")
	fs.StringVar(&o.keep, "keep", "", "folder to keep the files of every run in")
	fs.DurationVar(&o.wait, "wait", 20*time.Second, "how long to wait for an idle machine before each run")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	ahead, err := compare(ctx, o, out, errs)
	switch {
	case err != nil:
		fmt.Fprintf(errs, "peers: %v\n", err)
		return 2
	case ahead > 0:
		return 1
	}
	return 0
}

// options are the flags.
type options struct {
	tools, loads, venvs, keep string
	wait                      time.Duration
}

// compare runs every load with every client and returns on how many lines another tool is ahead.
func compare(ctx context.Context, o options, out, errs io.Writer) (ahead int, err error) {
	l := &lab{ctx: ctx, log: errs, wait: o.wait, dir: o.keep}
	if o.keep == "" {
		if l.dir, err = os.MkdirTemp("", "bflow-peers-"); err != nil {
			return 0, err
		}
		defer os.RemoveAll(l.dir)
	}
	if l.dir, err = filepath.Abs(l.dir); err != nil {
		return 0, err
	}
	if l.bins, err = rig.Build(ctx, filepath.Join(l.dir, "bin")); err != nil {
		return 0, err
	}
	if l.cores, err = rig.PickCores(); err != nil {
		return 0, err
	}
	clients := []client{&own{l}}
	skipped := map[string]string{}
	for name := range strings.SplitSeq(o.tools, ",") {
		p, err := l.install(strings.TrimSpace(name), o.venvs)
		if err != nil {
			skipped[name] = err.Error()
			continue
		}
		clients = append(clients, p)
	}
	if len(clients) == 1 {
		return 0, fmt.Errorf("no tool to compare with: %v", skipped)
	}
	cells := l.runAll(clients, selected(o.loads))
	if ctx.Err() != nil {
		return 0, errors.New("interrupted")
	}
	return table(out, clients, cells, skipped), nil
}

// selected returns the loads that are named, all where none is.
func selected(names string) []load {
	if names == "" {
		return loads()
	}
	var out []load
	for _, l := range loads() {
		for name := range strings.SplitSeq(names, ",") {
			if l.name == strings.TrimSpace(name) {
				out = append(out, l)
			}
		}
	}
	return out
}
