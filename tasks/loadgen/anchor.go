package loadgen

import (
	"time"

	"golang.org/x/sys/unix"
)

// monotonic returns CLOCK_MONOTONIC at the moment t, in nanoseconds; 0 where it cannot be read. Other processes of the
// host know the same clock, so an engine that logs it can be compared with stamps that count from t.
func monotonic(t time.Time) int64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return 0
	}
	return now.Nano() - int64(time.Since(t))
}
