package sim

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
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
	threads, _ := filepath.Glob("/proc/self/task/*/schedstat")
	for _, path := range threads {
		delay := runDelay(path)
		u.RunDelay += delay
		if filepath.Base(filepath.Dir(path)) == strconv.Itoa(s.pacer.Thread()) {
			u.PacerRunDelay = delay
		}
	}
	return u
}

// runDelay reads the second field of a schedstat: nanoseconds of waiting while able to run. A kernel without it, or
// a thread that has just ended, gives 0.
func runDelay(path string) float64 {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(data))
	if len(fields) < 2 {
		return 0
	}
	ns, err := strconv.ParseFloat(fields[1], 64)
	if err != nil {
		return 0
	}
	return ns / 1e9
}
