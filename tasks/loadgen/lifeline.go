package loadgen

import (
	"context"
	"io"
	"os"
	"strconv"

	"bflow.dev/bflow/tasks/contract"
)

// watchExecutor returns a context that also ends when the local executor that started this process is gone.
func (m *measurement) watchExecutor(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	fd, err := strconv.Atoi(m.Env(contract.EnvLifeline))
	if err != nil {
		return ctx, cancel
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.NewFile(uintptr(fd), "lifeline")) // whatever ends it, the executor is gone
		cancel()
	}()
	return ctx, cancel
}
