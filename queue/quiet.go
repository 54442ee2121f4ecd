package queue

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
)

// quiet leaves out events of the framework that tell nobody anything: the end of a Workload, told at each look until its
// finalizer is gone (Released says it better), and each word of an admission check, which the reason of the run repeats.
// With thousands of runs they were a tenth of what the API server had to write.
type quiet struct{ events.EventRecorder }

func (q quiet) Eventf(about, related runtime.Object, kind, reason, action, note string, args ...any) {
	if reason == jobframework.ReasonFinishedWorkload || reason == jobframework.ReasonUpdatedAdmissionCheck {
		return
	}
	q.EventRecorder.Eventf(about, related, kind, reason, action, note, args...)
}
