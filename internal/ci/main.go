// Command ci runs the checks that must pass before a change is merged (.ci/run calls it): the test command of the
// README, linters, generated files, and those tests on real components that the change can break. It ends with a
// table of the time that each step took.
//
//	ci run            run the checks; CI_FULL=1 runs all of them, CI_TIMES names a file for the times
//	ci choose         print what would be run, and why the rest would not
//	ci compare A B    print two files of times side by side
//	ci race           print the packages that are tested under the race detector
//	ci prove SEED N   break N packages in a scratch copy, one at a time, and tell which of the chosen rows finds each
//	ci retry CMD...   run a command until it succeeds, a few times: for downloads
//
// It is built before anything is downloaded, so it imports nothing but the standard library; a test holds that.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"bflow.dev/bflow/internal/ci/timing"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := command(ctx, os.Stdout, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "ci:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New(
	"the arguments are one of: run; choose; race; compare BEFORE AFTER; prove SEED COUNT; retry COMMAND")

func command(ctx context.Context, out io.Writer, args []string) error {
	switch {
	case len(args) == 1 && args[0] == "run":
		return run(ctx, out)
	case len(args) == 1 && args[0] == "choose":
		return preview(ctx, out)
	case len(args) == 1 && args[0] == "race":
		return printConcurrent(out)
	case len(args) == 3 && args[0] == "compare":
		return compare(out, args[1], args[2])
	case len(args) == 3 && args[0] == "prove":
		return prove(ctx, out, args[1], args[2])
	case len(args) > 1 && args[0] == "retry":
		return retry(ctx, args[1:])
	}
	return errUsage
}

func compare(out io.Writer, before, after string) error {
	a, err := timing.Open(before)
	if err != nil {
		return err
	}
	b, err := timing.Open(after)
	if err != nil {
		return err
	}
	return timing.Compare(out, a, b)
}

// preview prints the choice that run would make now.
func preview(ctx context.Context, out io.Writer) error {
	p, err := locate()
	if err != nil {
		return err
	}
	_, chosen, err := choice(ctx, p)
	if err != nil {
		return err
	}
	return chosen.print(out)
}
