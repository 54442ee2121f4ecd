package quiet

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
)

// attempt is the test that a body sees: it keeps what the body reports until somebody knows whether it counts.
type attempt struct {
	testing.TB
	ctx context.Context // until the end of body

	mu       sync.Mutex
	lines    []string
	failed   bool
	skipped  bool
	cleanups []func()
}

// run calls body to its end, on a goroutine that a Fatal ends.
func (a *attempt) run(body func(t testing.TB)) {
	var end context.CancelFunc
	a.ctx, end = context.WithCancel(a.TB.Context())
	defer end()
	runInGoroutine(func() { body(a) })
}

func runInGoroutine(f func()) {
	var over sync.WaitGroup
	over.Go(f)
	over.Wait()
}

// report tells the real test what body has reported.
func (a *attempt) report() {
	a.TB.Helper()
	for _, line := range a.lines {
		a.TB.Log(line)
	}
	switch {
	case a.failed:
		a.TB.FailNow()
	case a.skipped:
		a.TB.SkipNow()
	}
}

// cleanUp calls the cleanups of body, the last first.
func (a *attempt) cleanUp() {
	for len(a.cleanups) > 0 {
		last := len(a.cleanups) - 1
		f := a.cleanups[last]
		a.cleanups = a.cleanups[:last]
		runInGoroutine(f)
	}
}

// Context ends with body, before its cleanups.
func (a *attempt) Context() context.Context { return a.ctx }

// Helper does nothing: lines are told by the real test later.
func (a *attempt) Helper() {}

// Cleanup calls f at the end of the attempt.
func (a *attempt) Cleanup(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cleanups = append(a.cleanups, f)
}

// TempDir makes a folder that goes with the attempt.
func (a *attempt) TempDir() string {
	dir, err := os.MkdirTemp(a.TB.TempDir(), "attempt-")
	if err != nil {
		a.Fatalf("making a folder: %v", err)
	}
	return dir
}

func (a *attempt) add(line string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lines = append(a.lines, line)
}

// Fail marks the attempt as failed.
func (a *attempt) Fail() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failed = true
}

// Failed says whether it was.
func (a *attempt) Failed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failed
}

// Skipped says whether body has skipped itself.
func (a *attempt) Skipped() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.skipped
}

// FailNow fails the attempt and ends body.
func (a *attempt) FailNow() {
	a.Fail()
	runtime.Goexit()
}

// SkipNow skips the test, for a reason of its own, and ends body.
func (a *attempt) SkipNow() {
	a.mu.Lock()
	a.skipped = true
	a.mu.Unlock()
	runtime.Goexit()
}

// Log, and what follows, are those of a test.
func (a *attempt) Log(args ...any)                 { a.add(fmt.Sprint(args...)) }
func (a *attempt) Logf(format string, args ...any) { a.add(fmt.Sprintf(format, args...)) }

// Error reports and goes on.
func (a *attempt) Error(args ...any)                 { a.Log(args...); a.Fail() }
func (a *attempt) Errorf(format string, args ...any) { a.Logf(format, args...); a.Fail() }

// Fatal reports and ends body.
func (a *attempt) Fatal(args ...any)                 { a.Log(args...); a.FailNow() }
func (a *attempt) Fatalf(format string, args ...any) { a.Logf(format, args...); a.FailNow() }

// Skip says why and skips the test.
func (a *attempt) Skip(args ...any)                 { a.Log(args...); a.SkipNow() }
func (a *attempt) Skipf(format string, args ...any) { a.Logf(format, args...); a.SkipNow() }
