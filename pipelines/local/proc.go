package local

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"bflow.dev/bflow/runplan/contract"

	"golang.org/x/sys/unix"
)

// startTicks returns the start time of process pid in clock ticks since boot. Together with the pid it names one
// process for good: pids come back, pairs do not.
func startTicks(pid int) (uint64, error) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, fmt.Errorf("reading start time of process %d: %w", pid, err)
	}
	// The name in field 2 is in brackets and may hold anything, so fields count from its end; the start time is field 22.
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 20 {
		return 0, fmt.Errorf("reading start time of process %d: short stat", pid)
	}
	return strconv.ParseUint(string(fields[19]), 10, 64)
}

// kill sends sig to pid if the process is still the one that is looks for; a handle taken before the look keeps a
// successor of the same number from being hit.
func kill(pid int, sig unix.Signal, is func(pid int) bool) error {
	fd, err := unix.PidfdOpen(pid, 0)
	// The number of a process that has ended may be that of another one's thread, which some kernels call ENOENT,
	// others EINVAL.
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINVAL) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("opening process %d: %w", pid, err)
	}
	defer unix.Close(fd)
	if !is(pid) {
		return nil
	}
	if err := unix.PidfdSendSignal(fd, sig, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("sending %s to process %d: %w", unix.SignalName(sig), pid, err)
	}
	return nil
}

// startedAt is the test "the process that started at ticks".
func startedAt(ticks uint64) func(int) bool {
	return func(pid int) bool {
		got, err := startTicks(pid)
		return err == nil && got == ticks
	}
}

// ofRun is the test "a process whose environment names runDir": every step of the run, and what steps started.
func ofRun(runDir string) func(int) bool {
	mark := []byte(contract.EnvRunDir + "=" + runDir)
	return func(pid int) bool {
		environ, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
		if err != nil {
			return false
		}
		for variable := range bytes.SplitSeq(environ, []byte{0}) {
			if bytes.Equal(variable, mark) {
				return true
			}
		}
		return false
	}
}

// processesOf lists the living processes of runDir, this one left out.
func processesOf(runDir string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	is := ofRun(runDir)
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && pid != os.Getpid() && is(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// sweep waits up to grace for the processes of runDir to end by themselves, then kills what is left. It returns when
// none is left, or an error after as long again.
func sweep(runDir string, grace time.Duration) error {
	killAt, giveUpAt := time.Now().Add(grace), time.Now().Add(2*grace+time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		pids := processesOf(runDir)
		if len(pids) == 0 {
			return nil
		}
		if now := time.Now(); now.After(giveUpAt) {
			return fmt.Errorf("ending processes %v of run %q: they do not end; kill them by hand", pids, runDir)
		} else if now.After(killAt) {
			for _, pid := range pids {
				if err := kill(pid, unix.SIGKILL, ofRun(runDir)); err != nil {
					return err
				}
			}
		}
		<-tick.C
	}
}
