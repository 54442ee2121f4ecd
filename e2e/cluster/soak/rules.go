package soak

import (
	"fmt"
	"slices"
	"time"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	corev1 "k8s.io/api/core/v1"

	"bflow.dev/bflow/runplan/contract"
)

const (
	// maxWatchDelay is how late a watch may tell, where the clocks of two clusters are all that compares them.
	maxWatchDelay = time.Minute
	// lossNoticeTime is how long a cluster is off the network before nothing can be verified there: what was asked for
	// before may be written down after it, by a controller that was paused meanwhile.
	lossNoticeTime = 30 * time.Second
	// collectionTime is how long the garbage collector may take for what has lost its owner, once nothing breaks.
	collectionTime = time.Minute
)

// enough: the pods of a cluster that have not ended ask for no more devices than there are.
func (j *Judge) enough(cluster string, at time.Time) string {
	var sum int64
	var all []*life
	for _, l := range j.pods[cluster] {
		if l.GPUs > 0 {
			sum += l.GPUs
			all = append(all, l)
		}
	}
	if sum <= j.gpus[cluster] {
		return ""
	}
	slices.SortFunc(all, func(a, b *life) int { return a.number - b.number })
	return fmt.Sprintf("at %s pods ask for %d GPUs of cluster %s, which has %d: %s",
		stamp(at), sum, cluster, j.gpus[cluster], listed(all))
}

// once: a task of an attempt has one TaskRun. Tekton may start a task of a matrix that was deleted a moment before,
// which its cache still has: the garbage collector takes that TaskRun, whose pod must not have done its work.
func (j *Judge) once(l *life) {
	if l.Owner == "" || l.task() == "" {
		return // task finish of a run that ended without it
	}
	key := l.Owner + " " + l.task()
	other := j.tasks[key]
	j.tasks[key] = l
	if other == nil {
		return
	}
	twice := fmt.Sprintf("task %s of one attempt was started twice: %s at %s, and %s at %s",
		l.task(), other, stamp(other.first.At), l, stamp(l.first.At))
	j.ask(question{cluster: l.cluster, revision: l.first.Revision, kinds: []string{PipelineRun}, answer: func() string {
		if parent := j.lives[l.cluster+" "+l.Owner]; parent == nil || !parent.isMatrix() ||
			!by(parent.gone, l.first.Revision) {
			return twice
		}
		j.orphans[l.UID] = twice
		for _, pod := range j.lives {
			j.note(j.idle(pod))
		}
		return ""
	}})
}

// idle: a pod whose TaskRun was made after the end of its matrix has not done its work.
func (j *Judge) idle(pod *life) string {
	if twice := j.orphans[pod.Owner]; twice != "" && pod.Kind == Pod && pod.Done == string(corev1.PodSucceeded) {
		return twice + ", whose pod succeeded"
	}
	return ""
}

// isLeft says whether a TaskRun that was made after the end of its matrix is still there, although the garbage
// collector has had the time to take it.
func (j *Judge) isLeft(l *life) bool {
	return l.Kind == TaskRun && l.gone == nil && j.orphans[l.UID] != "" &&
		j.upto[stream{l.cluster, TaskRun}].At.Sub(l.first.At) > collectionTime
}

// single: a TaskRun has one pod at a time, a run one that provisions, and a target pods of one attempt.
func (j *Judge) single(l *life) string {
	for _, o := range j.pods[l.cluster] {
		same := ""
		switch {
		case o == l || o.of() != l.of() || l.of() == "":
		case l.Owner != "" && l.Owner == o.Owner && l.Labels[pipeline.TaskRunLabelKey] != "":
			same = "TaskRun " + l.Labels[pipeline.TaskRunLabelKey]
		case l.task() == contract.Provision && o.task() == contract.Provision:
			same = "run " + l.of()
		case l.served() && o.served() && l.attempt() != o.attempt():
			same = "run " + l.of() + ", of two attempts"
		}
		if same != "" {
			return fmt.Sprintf("two pods of %s are alive on cluster %s: %s since %s, and %s since %s",
				same, l.cluster, o, stamp(o.first.At), l, stamp(l.first.At))
		}
	}
	return ""
}

// run: what was written when a run was let start and when it was released stays; one attempt is let start at a time;
// and after its release nothing of it is there, or its target is marked.
func (j *Judge) run(was life, l *life) {
	if was.first == nil {
		j.runs[l.of()] = append(j.runs[l.of()], l)
	}
	for _, key := range []string{contract.AnnotationAdmitted, contract.AnnotationAdmittedTo, contract.AnnotationReleased} {
		if before, now := was.Annotations[key], l.Annotations[key]; before != "" && before != now {
			j.note(fmt.Sprintf("%s had %s=%s and has %q", l, key, before, now))
		}
	}
	if was.admitted == nil && l.admitted != nil {
		for _, o := range j.runs[l.of()] {
			if o != l && o.admitted != nil && o.over() == nil {
				j.note(fmt.Sprintf("two attempts of one run are let start: %s at %s, and %s at %s",
					o, stamp(o.admitted.At), l, stamp(l.admitted.At)))
			}
		}
	}
	over := l.over()
	if l.admitted == nil || over == nil || was.over() != nil {
		return
	}
	target := l.target()
	if target == contract.TargetLocal {
		j.emptied(l, Hub, over.Revision)
		return
	}
	j.asks = append(j.asks, l.Object)
	if cut := j.cut[target]; cut != nil && over.At.Sub(cut.At) > lossNoticeTime {
		j.markedElse(l, fmt.Sprintf("target %s is off the network since %s", target, stamp(cut.At)))
	}
}

// markedElse: the target of a run was marked when that was released, because of something that is so.
func (j *Judge) markedElse(l *life, because string) {
	over := l.over()
	j.ask(question{cluster: Hub, revision: over.Revision, kinds: []string{Flavor}, answer: func() string {
		if by(j.dirty[l.target()][l.of()], over.Revision) {
			return ""
		}
		return fmt.Sprintf("%s was released at %s without a mark on target %s: %s", l, stamp(over.At), l.target(), because)
	}})
}

// emptied: at a revision of the target, not before the release of a run, nothing that can hold or make devices is
// there, nor a task of the run alive, or the target is marked.
func (j *Judge) emptied(l *life, cluster string, revision int64) {
	kinds := []string{Pod, Deployment}
	if cluster != Hub {
		kinds = append(kinds, Job)
	}
	j.ask(question{cluster: cluster, revision: revision, kinds: kinds, answer: func() string {
		left := j.inOrder(func(o *life) bool {
			if o.cluster != cluster || o.of() != l.of() || o.attempt() > l.attempt() || !o.there(revision) {
				return false
			}
			return o.served() || o.Kind == Pod && o.task() != "" && !by(o.done, revision)
		})
		if len(left) > 0 {
			j.markedElse(l, "there was "+listed(left))
		}
		return ""
	}})
}

// wanted: what is made on a target for a run is made while an attempt of it is let start.
func (j *Judge) wanted(l *life) {
	if l.cluster == Hub {
		revision := l.first.Revision
		j.ask(question{cluster: Hub, revision: revision, kinds: []string{PipelineRun}, answer: func() string {
			return j.unwanted(l, func(pr *life) bool { return pr.has(revision) })
		}})
		return
	}
	const second = time.Second // to which the API server rounds
	j.ask(question{cluster: Hub, after: l.first.At.Add(maxWatchDelay), kinds: []string{PipelineRun},
		answer: func() string {
			return j.unwanted(l, func(pr *life) bool {
				over := pr.over()
				return pr.admitted != nil && !pr.Created.After(l.Created.Add(second)) &&
					(over == nil || !l.Created.After(over.At.Add(second)))
			})
		}})
}

// unwanted excuses what comes after a release that is marked: nothing is let start beside it.
func (j *Judge) unwanted(l *life, wants func(*life) bool) string {
	target := l.cluster
	if target == Hub {
		target = contract.TargetLocal
	}
	if slices.ContainsFunc(j.runs[l.of()], wants) || j.dirty[target][l.of()] != nil {
		return ""
	}
	return fmt.Sprintf("%s of run %s was made on cluster %s at %s, when no attempt of it was let start",
		l, l.of(), l.cluster, stamp(l.first.At))
}

// kept: a Workload holds its quota until its run has freed or released what it has.
func (j *Judge) kept(l *life, e *Event) {
	owner, revision := l.Owner, e.Revision
	ending := l.deleting != nil // with its namespace: the devices themselves are counted
	j.ask(question{cluster: Hub, revision: revision, kinds: []string{PipelineRun}, answer: func() string {
		pr := j.lives[Hub+" "+owner]
		if pr == nil || !pr.isRun() || !pr.has(revision) || by(pr.freed, revision) || ending && by(pr.deleting, revision) {
			return ""
		}
		return fmt.Sprintf("%s gave its quota back at %s, when %s had neither freed nor released its devices",
			l, stamp(e.At), pr)
	}})
}
