package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"
)

// lock waits until no other run holds the lock file, and says for whom it waits: clusters and caches are one per
// machine. The kernel lets go of it however its holder ends.
func lock(ctx context.Context, out io.Writer, name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("taking the lock of the checks: %w", err)
	}
	for last := ""; ; {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			f.Close()
			return nil, fmt.Errorf("taking the lock %q: %w", name, err)
		}
		if holder, _ := os.ReadFile(name); string(holder) != last {
			last = string(holder)
			fmt.Fprintf(out, "waiting for another run of the checks on this machine: %s\n", strings.TrimSpace(last))
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("waiting for the lock %q: %w", name, context.Cause(ctx))
		case <-time.After(time.Second):
		}
	}
	dir, _ := os.Getwd()
	text := fmt.Sprintf("process %d in %s since %s\n", os.Getpid(), dir, time.Now().UTC().Format(time.TimeOnly))
	if err := errors.Join(f.Truncate(0), writeAt(f, text)); err != nil {
		f.Close()
		return nil, fmt.Errorf("taking the lock %q: %w", name, err)
	}
	return func() { f.Close() }, nil
}

func writeAt(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text), 0)
	return err
}
