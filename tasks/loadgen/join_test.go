package loadgen

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/sim"
)

// checkJoin demands that, per stage, the ids of rows that are ok are those of the requests that the engine completed.
func checkJoin(t *testing.T, b *bench, r results) {
	t.Helper()
	b.truthFor(t, r)
	for _, s := range r.stages {
		prefix := fmt.Sprintf("r-1-m0-r%d-s%d-", s.Sample, s.Stage)
		var ok, complete []string
		for _, row := range r.rows {
			if row.Stage == s.Stage && row.Sample == s.Sample && row.Status == report.StatusOK {
				ok = append(ok, row.ID)
			}
		}
		for _, truth := range b.engine.Truth() {
			if strings.HasPrefix(truth.RequestID, prefix) && truth.Status == sim.StatusComplete {
				complete = append(complete, truth.RequestID)
			}
		}
		slices.Sort(ok)
		slices.Sort(complete)
		if diff := cmp.Diff(complete, ok); diff != "" {
			t.Errorf("stage %d: ids (-complete +ok):\n%s", s.Stage, diff)
		}
	}
}

func TestRowsJoinTheTruth(t *testing.T) {
	b := makeBench(t, sim.Config{}, closedLoop(4, 40), openLoop(50, 1))
	r := b.measure(t)
	checkJoin(t, b, r)
	if len(r.stages) != 2 || r.stages[0].Counts.ByStatus[report.StatusOK] != 40 ||
		r.stages[1].Counts.ByStatus[report.StatusOK] != 50 {
		t.Errorf("counts %+v and %+v, want 40 and 50 ok", r.stages[0].Counts, r.stages[1].Counts)
	}
	if !r.load.Complete || r.load.TokenCountSource != "usage" || r.header.TokenCountSource != "usage" {
		t.Errorf("loadgen.json %+v", r.load)
	}
}
