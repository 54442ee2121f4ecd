package provision

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// Process is one entry of deployment/processes.json: a process of ours on this host. Its identity is pid and start
// time together, because pids are used again.
type Process struct {
	Role      string `json:"role"` // supervisor or engine
	PID       int    `json:"pid"`
	StartTime uint64 `json:"start_time"` // field 22 of /proc/<pid>/stat, clock ticks since boot
	Port      int    `json:"port,omitempty"`
	Log       string `json:"log,omitempty"` // relative to the run directory
}

// identify returns the process as it is now.
func identify(role string, pid int) (Process, error) {
	start, err := startTime(pid)
	return Process{Role: role, PID: pid, StartTime: start}, err
}

// alive reports whether the very process still runs. A zombie does not.
func (p Process) alive() bool {
	start, err := startTime(p.PID)
	return err == nil && start == p.StartTime
}

// startTime reads field 22 of /proc/<pid>/stat; the second field, the name, may hold blanks and brackets.
func startTime(pid int) (uint64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("reading process %d: %w", pid, err)
	}
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 20 || string(fields[0]) == "Z" {
		return 0, fmt.Errorf("reading process %d: it has ended", pid)
	}
	return strconv.ParseUint(string(fields[19]), 10, 64)
}

// teardown ends every process recorded in runDir and waits until none is left: first politely, after grace by force.
func teardown(ctx context.Context, runDir string) error {
	var procs []Process
	path := filepath.Join(runDir, contract.FileProcesses)
	if err := step.ReadJSON(path, &procs); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	const grace = 10 * time.Second
	if !endAll(ctx, procs, syscall.SIGTERM, grace) && !endAll(ctx, procs, syscall.SIGKILL, grace) {
		return fmt.Errorf("ending the processes of %q: still running: %v; kill them by hand", path, living(procs))
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("deleting the record of the processes of a run: %w", err)
	}
	return nil
}

// teardownAfter ends what a failed or cancelled up has started; the context of up may be gone already.
func teardownAfter(runDir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return teardown(ctx, runDir)
}

// endAll signals the living and waits; it reports whether all have ended. A living supervisor is asked to end its
// engine: it would take an engine that ends before it was told for one that failed.
func endAll(ctx context.Context, procs []Process, sig syscall.Signal, grace time.Duration) bool {
	supervised := sig == syscall.SIGTERM && slices.ContainsFunc(procs,
		func(p Process) bool { return p.Role == "supervisor" && p.alive() })
	for _, p := range procs {
		if p.alive() && (p.Role == "supervisor" || !supervised) {
			syscall.Kill(p.PID, sig)
		}
	}
	deadline := time.Now().Add(grace)
	for len(living(procs)) > 0 {
		if time.Now().After(deadline) || ctx.Err() != nil {
			return false
		}
		time.Sleep(5 * time.Millisecond)
	}
	return true
}

func living(procs []Process) []int {
	var pids []int
	for _, p := range procs {
		if p.alive() {
			pids = append(pids, p.PID)
		}
	}
	return pids
}

// Teardown ends every process that provision started for the run in runDir. It may be repeated.
func Teardown(ctx context.Context, runDir string) error { return teardown(ctx, runDir) }
