package soak

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"
)

// life is what was told of an object, and when it became what it is; what has not happened is nil.
type life struct {
	Object
	cluster string
	number  int // in the order in which they were first told of

	first, done, deleting, gone *Event
	admitted, freed, released   *Event // of a PipelineRun
}

// learn keeps what an event tells.
func (l *life) learn(e *Event) {
	set := func(at **Event, is bool) {
		if is && *at == nil {
			*at = e
		}
	}
	set(&l.gone, e.Verb == Gone)
	if e.Verb == Gone {
		return
	}
	l.Object = e.Object
	set(&l.first, true)
	set(&l.done, e.Done != "")
	set(&l.deleting, e.Deleting)
	set(&l.admitted, e.Annotations[contract.AnnotationAdmitted] != "")
	set(&l.freed, e.Annotations[contract.AnnotationFreed] != "")
	set(&l.released, e.Annotations[contract.AnnotationReleased] != "")
}

// by says whether something had happened at a revision of the same cluster.
func by(e *Event, revision int64) bool { return e != nil && e.Revision <= revision }

// there says whether the object was there at a revision.
func (l *life) there(revision int64) bool { return by(l.first, revision) && !by(l.gone, revision) }

// alive says whether a pod is there and has not ended.
func (l *life) alive() bool { return l.gone == nil && l.done == nil }

// over is the event by which a run that was let start gave everything back: its release, else its end as an object,
// since a patch that takes the last finalizer away is told as that.
func (l *life) over() *Event {
	if l.released != nil {
		return l.released
	}
	return l.gone
}

// has says whether a run is let start and not released at a revision.
func (l *life) has(revision int64) bool {
	return by(l.admitted, revision) && !by(l.released, revision) && !by(l.gone, revision)
}

// again says whether another attempt follows, and is not made yet.
func (l *life) again() bool {
	cause, _, _ := strings.Cut(l.Annotations[run.AnnotationStopped], ":")
	return (cause == run.CauseEvicted || cause == run.CauseLost) && l.Annotations[run.AnnotationNext] == "" &&
		l.Annotations[contract.AnnotationCancel] == ""
}

// of is namespace and name of the run that an object belongs to, "" where it belongs to none.
func (o Object) of() string {
	id := o.Labels[contract.LabelRun]
	if id == "" && o.Kind == PipelineRun {
		id = o.Name
	}
	if id == "" {
		return ""
	}
	return o.Namespace + "/" + id
}

// isRun says whether the object is a PipelineRun of bflow that waits in a queue of its own.
func (o Object) isRun() bool {
	return o.Kind == PipelineRun && o.Labels[contract.LabelPlanHash] != "" &&
		o.Labels[contract.LabelRole] != contract.RoleMatrix
}

func (o Object) isMatrix() bool {
	return o.Kind == PipelineRun && o.Labels[contract.LabelRole] == contract.RoleMatrix
}

func (o Object) attempt() int {
	n, err := strconv.Atoi(o.Labels[contract.LabelAttempt])
	if err != nil {
		return 1
	}
	return n
}

// target is where a run was let start.
func (o Object) target() string { return o.Annotations[contract.AnnotationAdmittedTo] }

// task is the task of a run that a TaskRun or its pod is of, "" where it is of none.
func (o Object) task() string { return o.Labels[pipeline.PipelineTaskLabelKey] }

// served says whether the object is something that was made on a target for a run.
func (o Object) served() bool {
	return slices.Contains([]string{Pod, Deployment, Job}, o.Kind) && o.Labels[contract.LabelRelease] != "" &&
		o.Labels[contract.LabelRun] != ""
}

// marks are the runs that a flavor names as not verified.
func (o Object) marks() []string {
	return strings.FieldsFunc(o.Annotations[contract.AnnotationDirty], func(r rune) bool { return r == ',' })
}
