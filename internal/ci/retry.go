package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// pauses are those between the attempts of a download: a registry that answers 500 twice is tried a third time, and one
// that is being restarted a fourth.
func pauses() []time.Duration {
	return []time.Duration{2 * time.Second, 10 * time.Second, 30 * time.Second}
}

// retry runs a command until it succeeds.
func retry(ctx context.Context, args []string) error {
	return retryAfter(ctx, pauses(), args)
}

func retryAfter(ctx context.Context, pauses []time.Duration, args []string) error {
	for attempt := 0; ; attempt++ {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		err := cmd.Run()
		if err == nil {
			return nil
		}
		if attempt == len(pauses) {
			return fmt.Errorf("running %q: %w, %d times", args, err, attempt+1)
		}
		fmt.Fprintf(os.Stderr, "ci: running %q: %v; trying again in %s\n", args, err, pauses[attempt])
		select {
		case <-ctx.Done():
			return fmt.Errorf("running %q: %w", args, context.Cause(ctx))
		case <-time.After(pauses[attempt]):
		}
	}
}
