package sim

import (
	"strconv"

	"golang.org/x/sys/unix"

	"bflow.dev/bflow/internal/runqueue"
)

// usage is what the process has used since its start, in seconds.
type usage struct {
	CPU           float64 // user and system
	RunDelay      float64 // all threads that still live waited for a processor
	PacerRunDelay float64 // the pacer's thread alone
}

func (s *Server) usage() usage {
	var u usage
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err == nil {
		u.CPU = float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
	}
	for thread, turns := range runqueue.Threads() {
		u.RunDelay += turns.Waiting.Seconds()
		if thread == strconv.Itoa(s.pacer.Thread()) {
			u.PacerRunDelay = turns.Waiting.Seconds()
		}
	}
	return u
}
