// Package run judges a PipelineRun of bflow: whose it is, what it asks for, where it is in its life, whether a
// controller looks after it, and who writes which of its labels and annotations. Every function is pure. Nothing here
// talks to a cluster, so that all controllers mean the same by the same word.
package run

import (
	"maps"
	"strconv"
	"strings"
	"time"

	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Annotations that only the controller knows.
const (
	// AnnotationQueue is the queue of a run whose label was taken away, because a Kueue that manages pods would queue
	// every task pod of it too.
	AnnotationQueue = contract.Prefix + "queue"
	// AnnotationStopped says why a run ended that did not by itself: a cause of package run, a colon and a sentence.
	AnnotationStopped = contract.Prefix + "stopped"
	// AnnotationNext is the PipelineRun of the next attempt.
	AnnotationNext = contract.Prefix + "next-attempt"
	// AnnotationTooBig, on a Workload, says why the controller has deactivated it: what its target does not have.
	AnnotationTooBig = contract.Prefix + "set-aside"
)

// Causes for which a run ended that did not by itself, the first word of AnnotationStopped.
const (
	CauseEvicted       = "evicted"     // Kueue took the quota away; a further attempt follows
	CauseLost          = "lost"        // the target took a task of the run away; a further attempt follows
	CauseDeactivated   = "deactivated" // a person or a limit took the run out of the queue
	CauseQuota         = "no-quota"    // the run went on without a right to its quota
	CauseUnschedulable = "no-place"    // a pod of one of its tasks found no node for too long
)

// Cause is for what the run ended, "" where it ended by itself or by a person.
func Cause(o metav1.Object) string {
	cause, _, _ := strings.Cut(o.GetAnnotations()[AnnotationStopped], ":")
	return cause
}

// Again says whether a run ended for no fault of its own, so that a further attempt follows.
func Again(o metav1.Object) bool { return Cause(o) == CauseEvicted || Cause(o) == CauseLost }

// Between says whether the run is between two attempts: this one was the last, it ended for no fault of its own, and
// nobody has made the next one yet, or said that there is none.
func Between(pr *tektonv1.PipelineRun) bool {
	return Ours(pr) && Again(pr) && pr.IsDone() && !pr.IsSuccessful() && pr.DeletionTimestamp.IsZero() &&
		pr.Annotations[AnnotationNext] == ""
}

// NoNext is the next attempt of a run that gets none.
const NoNext = "none"

// Next is the PipelineRun of the next attempt, "" where there is none, or none yet.
func Next(o metav1.Object) string {
	if next := o.GetAnnotations()[AnnotationNext]; next != NoNext {
		return next
	}
	return ""
}

// Several says whether the run may go to more than one target.
func Several(o metav1.Object) bool {
	a := o.GetAnnotations()
	return Ours(o) && (a[contract.AnnotationTargets] != "" || a[contract.AnnotationTargetSelector] != "")
}

// Ours says whether the object is a PipelineRun of bflow. Others are never touched.
func Ours(o metav1.Object) bool { return o.GetLabels()[contract.LabelPlanHash] != "" }

// ID is the name of the run: that of its first attempt.
func ID(o metav1.Object) string {
	if id := o.GetLabels()[contract.LabelRun]; id != "" {
		return id
	}
	return o.GetName()
}

// Key tells runs apart: those of two namespaces may have one name.
func Key(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: ID(o)}
}

// Owner lets what belongs to a run go with it.
func Owner(pr *tektonv1.PipelineRun) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: tektonv1.SchemeGroupVersion.String(), Kind: "PipelineRun", Name: pr.Name,
		UID: pr.UID}
}

// Attempt counts the PipelineRuns of a run, from 1.
func Attempt(o metav1.Object) int {
	if n, err := strconv.Atoi(o.GetLabels()[contract.LabelAttempt]); err == nil && n > 0 {
		return n
	}
	return 1
}

// Identified says whether the run carries its name and attempt for the pods to inherit.
func Identified(o metav1.Object) bool {
	labels := o.GetLabels()
	return labels[contract.LabelRun] != "" && labels[contract.LabelAttempt] != ""
}

// Identify makes the object carry its name and attempt.
func Identify(o metav1.Object) {
	labels := maps.Clone(o.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	labels[contract.LabelRun], labels[contract.LabelAttempt] = ID(o), strconv.Itoa(Attempt(o))
	o.SetLabels(labels)
}

// Queue is the LocalQueue that the run waits in, "" for a run that nobody queues.
func Queue(o metav1.Object) string {
	if q := o.GetLabels()[contract.LabelQueue]; q != "" {
		return q
	}
	return o.GetAnnotations()[AnnotationQueue]
}

// Target is where the run was let start, else what its plan asks for. The label is for those who select by it: where
// somebody could change it, the devices of the run are still where they are.
func Target(o metav1.Object) string {
	if t := o.GetAnnotations()[contract.AnnotationAdmittedTo]; t != "" {
		return t
	}
	if t := o.GetLabels()[contract.LabelTarget]; t != "" {
		return t
	}
	return contract.TargetLocal
}

// Started says whether anything of the run may exist. The start time does not tell: Tekton sets it on a pending run
// that is cancelled.
func Started(pr *tektonv1.PipelineRun) bool {
	return pr.Annotations[contract.AnnotationAdmitted] != "" || len(pr.Status.ChildReferences) > 0
}

// Released says whether nothing of the run is left on its target, or it was given up by force.
func Released(o metav1.Object) bool { return o.GetAnnotations()[contract.AnnotationReleased] != "" }

// Freed says whether no pod of the run holds a device any more.
func Freed(o metav1.Object) bool { return o.GetAnnotations()[contract.AnnotationFreed] != "" }

// Holding says whether the run has a right to its quota: from its start until its release.
func Holding(pr *tektonv1.PipelineRun) bool { return Started(pr) && !Released(pr) }

// Cancelling says whether somebody wants the end of the run, so that it must not be let start.
func Cancelling(o metav1.Object) bool { return o.GetAnnotations()[contract.AnnotationCancel] != "" }

// Forced says whether somebody wants the quota of the run back as soon as it is over, whatever is left of it.
func Forced(o metav1.Object) bool { return o.GetAnnotations()[contract.AnnotationForce] != "" }

// Stopping says whether the run was told to end.
func Stopping(pr *tektonv1.PipelineRun) bool {
	return pr.IsCancelled() || pr.IsGracefullyCancelled() || pr.IsGracefullyStopped()
}

// Over says whether Tekton does nothing more for the run: it is done, or being deleted, which ends Tekton's work on it
// though it is not done.
func Over(pr *tektonv1.PipelineRun) bool { return pr.IsDone() || !pr.DeletionTimestamp.IsZero() }

// EndedAt is when the run was over, the zero time for one that is not.
func EndedAt(pr *tektonv1.PipelineRun) time.Time {
	var ended time.Time
	if pr.IsDone() {
		if t := pr.Status.CompletionTime; t != nil {
			ended = t.Time
		} else if c := pr.Status.GetCondition("Succeeded"); c != nil {
			ended = c.LastTransitionTime.Inner.Time
		}
	}
	if t := pr.DeletionTimestamp; t != nil && (ended.IsZero() || t.Time.Before(ended)) {
		ended = t.Time
	}
	return ended
}

// State is the word for where the run is: one of the states of queue/metrics.
func State(pr *tektonv1.PipelineRun) string {
	switch {
	case Over(pr) && Holding(pr) && pr.Annotations[contract.AnnotationServerUntil] != "":
		return "staying"
	case Over(pr) && Holding(pr):
		return "releasing"
	case Over(pr):
		return "done"
	case pr.IsPending():
		return "queued"
	default:
		return "running"
	}
}
