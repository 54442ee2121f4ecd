package step

import (
	"context"
	"io"
	"os"
	"strconv"

	"bflow.dev/bflow/runplan/contract"
)

// WithLifeline returns a context that also ends when the local executor that started this process is gone, however it
// ended (see contract.EnvLifeline). Where env names no lifeline, as on a cluster, it ends with ctx alone.
func WithLifeline(ctx context.Context, env func(string) string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	fd, err := strconv.Atoi(env(contract.EnvLifeline))
	if err != nil {
		return ctx, cancel
	}
	// It has no owner but the process: the pipe is shared with other processes, so a read of it cannot be given up.
	go func() {
		_, _ = io.Copy(io.Discard, os.NewFile(uintptr(fd), "lifeline")) // whatever ends it, the executor is gone
		cancel()
	}()
	return ctx, cancel
}
