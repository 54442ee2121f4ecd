// Package partial builds the report of a run whose load generator was killed, from the measurements until then. It
// must not judge how the load generator was killed: the caller says so.
package partial

import (
	"context"
	"errors"
	"strings"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/assemble"
	"bflow.dev/bflow/report/write"
	"bflow.dev/bflow/results/checksums"
	"bflow.dev/bflow/runplan"
)

// Run is the attempt of a run that is at its end.
type Run struct {
	Dir     string
	ID      string
	Attempt int
	Plan    *runplan.RunPlan
	Loads   string // why the load generators ended: a reason of package contract for each measurement, by commas
}

// Report writes the report of r, with every file that is made from it, and returns its verdict; nil where no load
// generator of the attempt was killed. Stages that were finished are in it, and a finding says what happened in which.
func (r Run) Report() (*report.Verdict, error) {
	killed, err := r.mark()
	if !killed || err != nil {
		return nil, err
	}
	rep, err := assemble.Report(r.Dir)
	if err != nil {
		return nil, err
	}
	rep.Run.ID, rep.Run.Attempt, rep.Run.Release = r.ID, r.Attempt, runplan.Release(rep.Plan, r.ID)
	return &rep.Verdict, write.All(context.Background(), r.Dir, rep)
}

// mark writes into the results of the killed load generators how they ended, and says whether there is any.
func (r Run) mark() (killed bool, err error) {
	reasons := strings.Split(r.Loads, ",")
	for n := range min(len(r.Plan.Measurements), len(reasons)) {
		kill, ok := report.KillOf(reasons[n])
		if !ok {
			continue
		}
		marked, failed := report.MarkKilled(r.Dir, n, r.Attempt, kill)
		killed, err = killed || marked, errors.Join(err, failed)
	}
	if killed {
		err = errors.Join(err, checksums.Retract(r.Dir))
	}
	return killed, err
}
