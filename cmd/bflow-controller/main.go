// Command bflow-controller queues runs, starts admitted ones and releases their resources: see package queue.
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
	os.Exit(controller.Main(ctx, os.Args[1:], os.Stdout, os.Stderr, compiler{}))
}
