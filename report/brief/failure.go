package brief

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// failure says why a run came to no report, as far as its files tell, and the exit code that goes with it.
func failure(runDir, status string) (string, int) {
	var smoke struct {
		Checks []struct{ Name, Verdict, Evidence string }
	}
	if step.ReadJSON(filepath.Join(runDir, contract.FileSmoketest), &smoke) == nil {
		for _, c := range smoke.Checks {
			if c.Verdict == "fail" {
				return cut("smoke test: " + c.Name + ": " + c.Evidence), contract.ExitUnhealthy
			}
		}
	}
	e := lastFailure(runDir)
	switch {
	case e != nil && e.Event == eventFailed:
		code, err := strconv.Atoi(e.Fields["exit_code"])
		if err != nil {
			code = contract.ExitFail
		}
		return cut(e.Source + ": " + e.Message), code
	case e != nil || status == "None" || loaded(runDir, func(l *report.LoadGen) bool { return l.Interrupted }):
		return "it was cancelled, or its time was over, before its report was made", contract.ExitInterrupted
	case loaded(runDir, (*report.LoadGen).Cut):
		return cut(report.Unfinished), contract.ExitFail
	}
	return "it ended before its report was made", contract.ExitFail
}

// Words of events that end a run.
const (
	eventFailed    = "failed"
	eventCancelled = "cancelled"
)

// loaded says whether a load ended in such a way.
func loaded(runDir string, is func(*report.LoadGen) bool) bool {
	// the pattern is sound
	paths, _ := filepath.Glob(filepath.Join(runDir, contract.DirMeasurement, "*", contract.FileLoadGen))
	for _, path := range paths {
		var l report.LoadGen
		if step.ReadJSON(path, &l) == nil && is(&l) {
			return true
		}
	}
	return false
}

// lastFailure is the last event that says why a task ended early.
func lastFailure(runDir string) *step.Event {
	f, err := os.Open(filepath.Join(runDir, contract.FileEvents))
	if err != nil {
		return nil
	}
	defer f.Close()
	var last *step.Event
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var e step.Event
		if json.Unmarshal(lines.Bytes(), &e) == nil && (e.Event == eventFailed || e.Event == eventCancelled) {
			last = &e
		}
	}
	return last
}
