// Package leakcheck fails a package's tests if they leave goroutines behind. It is for TestMain only; internal/fence
// defines which packages must use it.
package leakcheck

import (
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// settleTimeout is how long a goroutine may take to end after the last test: one that was told to and waits for a
// processor is no leak. Only a leak costs so much time.
const settleTimeout = 30 * time.Second

// Main is a TestMain.
func Main(m *testing.M) { os.Exit(Around(m).Run()) }

// Tests are the tests of a package and the check.
type Tests struct {
	m     interface{ Run() int }
	limit time.Duration
	err   io.Writer
}

// Around is for a TestMain that has more to do.
func Around(m *testing.M) Tests { return Tests{m, settleTimeout, os.Stderr} }

// Run runs the tests, then the check, and returns the exit code of both.
func (t Tests) Run() int {
	code := t.m.Run()
	if code != 0 { // a test that failed may have left anything
		return code
	}
	if err := settled(t.limit); err != nil {
		fmt.Fprintf(t.err, "leakcheck: the tests passed, and goroutines are left that nobody has ended; give them an "+
			"owner that waits for them: %v\n", err)
		return 1
	}
	return 0
}

// settled returns once no goroutine is left, and those that are when the time is over.
func settled(limit time.Duration) error {
	for end := time.Now().Add(limit); ; {
		// Nothing is ignored. A goroutine that rightly has no owner is named here, with goleak.IgnoreAnyFunction, and why.
		err := goleak.Find() // it tries for about half a second itself
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}
