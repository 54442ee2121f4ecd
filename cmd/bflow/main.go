// Command bflow benchmarks LLM inference servers: see package app for its verbs.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"bflow.dev/bflow/cmd/bflow/app"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := app.Main(ctx, app.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, os.Args)
	stop()
	os.Exit(code)
}
