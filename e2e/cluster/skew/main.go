//go:build linux && amd64

// Command skew shifts the wall clock of one process: `skew PID SECONDS`. Go programs read the time from the vDSO, of
// which each process has its own mapping; skew patches a jump to its own routine into it. The monotonic clock and
// other processes are not affected. It is for test processes only.
package main

import (
	"fmt"
	"os"
	"strconv"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "skew:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: skew PID SECONDS")
	}
	pid, err := strconv.Atoi(args[0])
	if err != nil {
		return fmt.Errorf("reading the id of a process: %w", err)
	}
	seconds, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return fmt.Errorf("reading seconds: %w", err)
	}
	if err := shift(pid, seconds); err != nil {
		return fmt.Errorf("shifting the clock of process %d: %w", pid, err)
	}
	return nil
}
