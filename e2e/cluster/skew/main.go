//go:build linux && amd64

// Skew shifts the wall clock of one process: `skew PID SECONDS`. Programs in Go ask the vDSO for the time, which a process
// has to itself; skew puts a jump to a routine of its own there. The monotonic clock stays as it is, and so does what other
// processes see. It is for processes of tests alone.
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
