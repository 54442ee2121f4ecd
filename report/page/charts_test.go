package page

import (
	"strings"
	"testing"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
)

func TestLinesGoByLoadWhateverTheOrderOfTheStages(t *testing.T) {
	stage := func(name, shape string, rate float64, slots int) *report.Stage {
		return &report.Stage{
			StageResult: report.StageResult{Planned: runplan.Stage{Name: name, Shape: shape, Concurrency: slots},
				Rate: rate},
		}
	}
	sorted := byLoad([]*report.Stage{
		stage("one", runplan.ShapeClosed, 0, 1), stage("all", runplan.ShapeThroughput, 0, 0),
		stage("fast", runplan.ShapeOpen, 90, 0),
		stage("knee", runplan.ShapeOpen, 70, 0),
	})
	var names []string
	for _, s := range sorted {
		names = append(names, s.Planned.Name)
	}
	if got := strings.Join(names, " "); got != "one knee fast all" {
		t.Errorf("lines connect %q", got)
	}
}
