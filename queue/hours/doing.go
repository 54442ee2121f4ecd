// Package hours accounts for the devices that runs hold: how long, and what for. Quota is the measure, not pods: what a
// run holds nobody else can have, whether or not its engine is up already.
//
// It only watches and adds up. It must not change a run, and it asks no API server: everything is in caches.
package hours

import (
	"strings"

	"bflow.dev/bflow/queue/metrics"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// Doing is what a run has its devices for at present, "" for a run that holds none. task returns a task of it by the name
// of its TaskRun, nil where none is known.
func Doing(pr *tektonv1.PipelineRun, task func(name string) *tektonv1.TaskRun) string {
	if !run.Holding(pr) || run.Freed(pr) {
		return ""
	}
	loads := 0
	for _, child := range pr.Status.ChildReferences {
		if !strings.HasPrefix(child.PipelineTaskName, contract.LoadGen+"-") {
			continue
		}
		loads++
		if tr := task(child.Name); tr != nil && tr.HasStarted() && !tr.IsDone() {
			return metrics.HoursMeasuring
		}
	}
	if loads == 0 && !run.Over(pr) {
		return metrics.HoursProvisioning
	}
	return metrics.HoursIdle
}
