package product

import (
	"regexp"
	"slices"
	"strings"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/sim"
)

// stageID is the form of the ids of a stage's requests: run, attempt, measurement, sample, stage, try where it is not
// the first, session, turn. Those of the smoketest and of the probes before a stage have other forms.
var stageID = regexp.MustCompile(`-m\d+-r\d+-s\d+(-t\d+)?-\d+-\d+$`)

// answered are the ids of the load's requests that the engine has answered whole.
func answered(r Run) []string {
	var ids []string
	for _, rec := range r.Truth() {
		if rec.Status == sim.StatusComplete && strings.HasPrefix(rec.RequestID, r.ID()+"-") &&
			stageID.MatchString(rec.RequestID) {
			ids = append(ids, rec.RequestID)
		}
	}
	return ids
}

// Join fails the test unless, stage by stage, the requests that the rows call ok are exactly those that the engine
// calls complete. It returns the rows.
func (r Run) Join() []report.Row {
	r.t.Helper()
	_, rows := r.Rows()
	stages, ok := map[string]int{}, map[int][]string{}
	for _, row := range rows {
		stages[row.ID] = row.Stage
		if row.Status == report.StatusOK {
			ok[row.Stage] = append(ok[row.Stage], row.ID)
		}
	}
	complete := map[int][]string{}
	for _, id := range answered(r) {
		stage, known := stages[id]
		if !known {
			r.t.Errorf("%s: the engine answered %q, which no row has", r.ID(), id)
			continue
		}
		complete[stage] = append(complete[stage], id)
	}
	for stage := range len(ok) + len(complete) {
		r.same(stage, ok[stage], complete[stage])
	}
	if len(ok) == 0 {
		r.t.Errorf("%s: no row is ok", r.ID())
	}
	return rows
}

func (r Run) same(stage int, ok, complete []string) {
	r.t.Helper()
	slices.Sort(ok)
	slices.Sort(complete)
	if slices.Equal(ok, complete) {
		return
	}
	r.t.Errorf("%s: stage %d: %d rows are ok and %d answers are complete", r.ID(), stage, len(ok), len(complete))
	for _, id := range ok {
		if !slices.Contains(complete, id) {
			r.t.Errorf("  ok, but not complete: %q", id)
		}
	}
	for _, id := range complete {
		if !slices.Contains(ok, id) {
			r.t.Errorf("  complete, but not ok: %q", id)
		}
	}
}
