package local

import (
	"time"

	"bflow.dev/bflow/runplan/contract"

	"golang.org/x/sys/unix"
)

// keep chooses the finished tasks that need not run again. A task marked "repeat" runs again while one marked
// "restart" is unfinished: what it made died with the executor, and the other needs it. What is neither made something
// of all that came before it, and is kept only where all of that is.
func (p *program) keep(finished map[string]Task) map[string]Task {
	again := false
	for _, pt := range p.spec.Tasks {
		_, done := finished[pt.Name]
		again = again || !done && p.bodies[pt.Name].resume == contract.ResumeRestart
	}
	kept, stale := map[string]Task{}, false
	for _, pt := range p.spec.Tasks {
		t, done := finished[pt.Name]
		resume := p.bodies[pt.Name].resume
		stale = stale || !done && resume == contract.ResumeRestart
		if done && (!again || resume != contract.ResumeRepeat) && (!stale || resume == contract.ResumeRestart) {
			kept[pt.Name] = t
		}
	}
	return kept
}

// endLeftovers kills what a dead executor left running: steps it recorded, and whatever else carries the run's mark.
func endLeftovers(runDir string, records []Record) error {
	for _, r := range unfinishedSteps(records) {
		if err := kill(r.PID, unix.SIGKILL, startedAt(r.Ticks)); err != nil {
			return err
		}
	}
	return sweep(runDir, leftoverGrace)
}

// leftoverGrace is how long processes of a dead executor get to notice by themselves that it is gone.
const leftoverGrace = 2 * time.Second
