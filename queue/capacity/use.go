package capacity

import (
	"strings"

	"bflow.dev/bflow/queue/metrics"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// UseOf is what a run has its devices for at present, "" for a run that holds none. task returns a task of it by the
// name of its TaskRun, nil where none is known.
func UseOf(pr *tektonv1.PipelineRun, task func(name string) *tektonv1.TaskRun) string {
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
