// Package eventually waits in tests for asynchronous conditions: it polls until a condition holds. It must not judge
// how long anything took, and no product code may import it.
package eventually

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// Limit ends a wait that is in vain. Only a test that fails reaches it, so it is generous: no host is so slow that what
// usually takes a second takes longer.
const Limit = 5 * time.Minute

// A look may cost much, so looks become rarer the longer the wait.
const (
	shortestWait = time.Millisecond
	longestWait  = 25 * time.Millisecond
)

// errNotYet is what a condition without an error of its own says of what it saw.
var errNotYet = errors.New("it is not so yet")

// True waits until is returns true and fails the test otherwise; what names what is awaited, as in "the load runs".
func True(t testing.TB, what string, is func() bool) {
	t.Helper()
	Nil(t, what, errorUnless(is))
}

// Nil waits until look returns nil and fails the test otherwise, with the last error of look: what it saw instead.
func Nil(t testing.TB, what string, look func() error) {
	t.Helper()
	// Not the context of the test: that one is over while its cleanups run, which wait too.
	if err := Look(context.Background(), what, look); err != nil {
		t.Fatal(err)
	}
}

// Happens waits like True where no test may be failed: on another goroutine than the test's, which goes on with what it
// returns. It ends with ctx.
func Happens(ctx context.Context, is func() bool) bool {
	return Look(ctx, "", errorUnless(is)) == nil
}

// Look waits like Nil, and returns an error that says what was awaited and what was seen last.
func Look(ctx context.Context, what string, look func() error) error {
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	return poll(ctx, what, look)
}

func errorUnless(is func() bool) func() error {
	return func() error {
		if is() {
			return nil
		}
		return errNotYet
	}
}

func poll(ctx context.Context, what string, look func() error) error {
	began := time.Now()
	for wait := shortestWait; ; wait = min(2*wait, longestWait) {
		looked := time.Now()
		last := look()
		if last == nil {
			return nil
		}
		select {
		case <-time.After(max(wait, time.Since(looked))): // no more time passes with looking than with waiting
		case <-ctx.Done():
			return fmt.Errorf("waited %s for %q; last seen: %w", time.Since(began).Round(time.Millisecond), what, last)
		}
	}
}

// Receive waits for a value from a channel, and for a zero value from one that is closed.
func Receive[T any](t testing.TB, what string, from <-chan T) (value T) {
	t.Helper()
	limit := time.NewTimer(Limit)
	defer limit.Stop()
	select {
	case value = <-from:
	case <-limit.C:
		t.Fatalf("waited %s for %q: nothing came", Limit, what)
	}
	return value
}

// Bound lets reads of c end at the limit, as those of a net.Conn do.
func Bound(c interface{ SetReadDeadline(t time.Time) error }) {
	_ = c.SetReadDeadline(time.Now().Add(Limit)) // one that is closed is at its end
}

// Context is that of a call that ends by itself: where it does not, its end fails the test instead of hanging it. Also
// a cleanup gets one that is not over.
func Context(t testing.TB) context.Context {
	t.Helper()
	parent := t.Context()
	if parent.Err() != nil {
		parent = context.WithoutCancel(parent)
	}
	ctx, cancel := context.WithTimeoutCause(parent, Limit, fmt.Errorf("the test has waited for %s", Limit))
	t.Cleanup(cancel)
	return ctx
}
