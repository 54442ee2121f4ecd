// Package quiet runs tests that depend on prompt scheduling: one at a time on this machine, under a lock, and it
// accepts their result only if their threads got the CPU when they needed it. Few tests need this: most can compare
// timestamps of one request instead. No product code may import it.
package quiet

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bflow.dev/bflow/internal/runqueue"
)

// attempts bounds how often a body runs: once, and twice again where the host was too busy.
const attempts = 3

// An attempt can take a minute, a look takes a fraction of a second: on an overloaded host no attempt is begun.
const (
	looks    = 10                     // at most, before an attempt
	lookTime = 200 * time.Millisecond // of a look
	overload = 10                     // times the share that body may wait
)

// reading is what the kernel has counted until a moment.
type reading struct {
	at      time.Time
	threads map[string]runqueue.Turns
}

// host is the machine that judges an attempt.
type host struct {
	lock func() (unlock func(), err error)
	read func() reading
	spin func() // wants a processor for a moment
}

// Run runs body alone on this machine. What body reports counts only where no thread of the test waited longer for a
// processor than the given share of the time that body took. Else body runs again, whether it passed or failed, and
// where the host is too busy three times, or is overloaded before an attempt, the test is skipped: it has found out
// nothing. Elsewhere than on Linux every attempt counts.
//
// Body gets a test of its own, whose cleanups run at the end of the attempt. It must not be used beyond that, and has
// no subtests.
func Run(t *testing.T, share float64, body func(t testing.TB)) {
	t.Helper()
	thisHost().run(t, share, body)
}

func (h host) run(t testing.TB, share float64, body func(t testing.TB)) {
	t.Helper()
	unlock, err := h.lock()
	if errors.Is(err, unix.EWOULDBLOCK) {
		t.Skipf("host too busy: others run alone: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	said := ""
	for range attempts {
		if said = h.overloaded(share); said != "" {
			t.Skipf("host too busy to begin: %d looks, the last: %s", looks, said)
		}
		a := &attempt{TB: t}
		before := h.read()
		a.run(body)
		after := h.read()
		a.cleanUp()
		// Before a look at what body has found, so that a busy host excuses nothing that a quiet one would not.
		if said = busy(before, after, share); said == "" {
			a.report()
			return
		}
		t.Logf("host too busy: %s", said)
	}
	t.Skipf("host too busy: %d attempts of %d, the last: %s", attempts, attempts, said)
}

// overloaded says by which figures the host is too busy to begin an attempt, "" where it is not.
func (h host) overloaded(share float64) (said string) {
	for range looks {
		before := h.read()
		h.spin()
		if said = busy(before, h.read(), overload*share); said == "" {
			return ""
		}
	}
	return said
}

// busy says by which figures the host was too busy between two readings, "" where it was not.
func busy(before, after reading, share float64) string {
	took := after.at.Sub(before.at)
	_, longest := runqueue.Waited(before.threads, after.threads)
	if allowed := time.Duration(share * float64(took)); longest > allowed {
		return fmt.Sprintf("a thread waited %s of %s for a processor, %s are allowed (%.2g %%)",
			longest.Round(time.Microsecond), took.Round(time.Millisecond), allowed.Round(time.Microsecond), 100*share)
	}
	return ""
}

func thisHost() host {
	return host{
		lock: func() (func(), error) { return takeLock(lockPath) },
		read: func() reading { return reading{time.Now(), runqueue.Threads()} },
		spin: func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for end := time.Now().Add(lookTime); time.Now().Before(end); {
			}
		},
	}
}
