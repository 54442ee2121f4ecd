package queue

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
)

// quiet leaves out events of the framework that tell nobody anything new: that a Workload was made (the run says
// which place it has), each word of an admission check (so does the reason of the run), the start (Tekton tells of it
// too), and the end of the Workload, told at each look until its finalizer is gone (Released says it better). Each is
// a write to an API server that has thousands of runs to start.
type quiet struct{ events.EventRecorder }

func (q quiet) Eventf(about, related runtime.Object, kind, reason, action, note string, args ...any) {
	known := []string{jobframework.ReasonCreatedWorkload, jobframework.ReasonUpdatedAdmissionCheck,
		jobframework.ReasonStarted, jobframework.ReasonFinishedWorkload}
	if !slices.Contains(known, reason) {
		q.EventRecorder.Eventf(about, related, kind, reason, action, note, args...)
	}
}
