package client

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/loadgen/wire"
)

// maxErrorTime is what the thread of the loop may take for an error: less than half of the wait for the next of 20
// sends per second, also where the race detector makes it ten times slower.
const maxErrorTime = 20 * time.Millisecond

// threadTime returns the processor time of this thread, in which a busy host has no part.
func threadTime(t *testing.T) time.Duration {
	t.Helper()
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func TestNoErrorHoldsTheThread(t *testing.T) {
	api, err := NewAPI(runplan.API{Type: runplan.APIChat, Headers: map[string]string{"X-Api-Key": "s3cr3t"}},
		wire.Server{Host: "h"}, "t0k3n")
	if err != nil {
		t.Fatal(err)
	}
	for name, page := range map[string]string{
		"objects in objects":    strings.Repeat(`{"error":`, 6000) + `"x"` + strings.Repeat("}", 6000),
		"lists in lists":        `{"error":{"message":` + strings.Repeat("[", 30_000) + strings.Repeat("]", 30_000) + "}}",
		"a message of 16 MiB":   `{"error":{"message":"` + strings.Repeat(`\u0061 `, 2<<20) + `"}}`,
		"objects without end":   strings.Repeat(`{"error":{"message":`, 800_000),
		"members without end":   "{" + strings.Repeat(`"message":"\"x",`, 1_000_000),
		"a string without end":  `"` + strings.Repeat(`\"`, 8<<20),
		"secrets without end":   strings.Repeat("t0k3n ", 2<<20),
		"blanks":                strings.Repeat(" ", 16<<20),
		"characters that break": strings.Repeat("\xff", 16<<20),
	} {
		t.Run(name, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			body := []byte(page)
			before := threadTime(t)
			api.Clean(errorText(body))
			if took := threadTime(t) - before; took > maxErrorTime {
				t.Errorf("an error of %d bytes took %v", len(page), took)
			}
		})
	}
}
