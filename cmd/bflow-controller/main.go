// Command bflow-controller queues runs, lets them start and takes them to their release: see package queue.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"bflow.dev/bflow/queue/controller"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(controller.Main(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
