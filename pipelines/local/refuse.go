package local

import (
	"fmt"
	"strings"
)

// Refusal is one thing that cannot run as a process on this host.
type Refusal struct {
	Where string // path of names: pipeline "p", task "t", step "s"
	Why   string
}

func (r Refusal) String() string {
	if r.Where == "" {
		return r.Why
	}
	return r.Where + ": " + r.Why
}

// RefusedError says up front what cannot run. Nothing was started.
type RefusedError struct{ Refusals []Refusal }

func (e *RefusedError) Error() string {
	lines := make([]string, len(e.Refusals))
	for i, r := range e.Refusals {
		lines[i] = r.String()
	}
	return "cannot run on this host: " + strings.Join(lines, "; ")
}

// LockedError means that another executor holds the run.
type LockedError struct {
	RunDir string
	PID    int // 0: unknown
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("run %q is in use by process %d; watch or cancel it, or wait for its end", e.RunDir, e.PID)
}
