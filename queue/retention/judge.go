package retention

import (
	"strconv"
	"time"

	"bflow.dev/bflow/queue/retry"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Keep is how long what an ended run has left is kept: the pods of its tasks, with their logs; its volume; and all
// the rest, which is the run itself. What holds results that are nowhere else is kept longer than that: until they
// are saved.
type Keep struct {
	Pods, Volumes, Runs Period
	Servers             Period // at most, of a run that does not remove its own
}

// Defaults are what a controller keeps that is not told otherwise.
func Defaults() Keep {
	const day = Period(24 * time.Hour)
	return Keep{Pods: day, Volumes: 7 * day, Runs: 30 * day, Servers: day}
}

// of is what holds for one run: its experiment may say when all of it goes.
func (k Keep) of(o metav1.Object) Keep {
	seconds, err := strconv.ParseInt(o.GetAnnotations()[contract.AnnotationTTL], 10, 64)
	if err != nil || seconds < 0 || seconds > int64(Forever)/int64(time.Second) {
		return k
	}
	ttl := Period(seconds) * Period(time.Second)
	return Keep{Pods: min(k.Pods, ttl), Volumes: min(k.Volumes, ttl), Runs: ttl, Servers: k.Servers}
}

// due is what of an ended run has had its time.
type due struct {
	pods, volume, run bool
	next              time.Time // when more will; zero where nothing will
}

// dueOf judges a run that ended at a time.
func (k Keep) dueOf(ended, now time.Time) (d due) {
	for _, of := range []struct {
		kept Period
		is   *bool
	}{{k.Pods, &d.pods}, {k.Volumes, &d.volume}, {k.Runs, &d.run}} {
		at := of.kept.after(ended)
		switch {
		case at.IsZero():
		case !at.After(now):
			*of.is = true
		case d.next.IsZero() || at.Before(d.next):
			d.next = at
		}
	}
	return d
}

// endedAt is when the last of a run was over: the zero time for one that is not at its end, or that gets another
// attempt. A run that holds quota is not at its end, whatever Tekton says.
func endedAt(attempts []tektonv1.PipelineRun) (ended time.Time) {
	for i := range attempts {
		pr := &attempts[i]
		if !pr.IsDone() || !pr.DeletionTimestamp.IsZero() || run.Holding(pr) || retry.Due(pr) {
			return time.Time{}
		}
		at := run.EndedAt(pr)
		if released, err := time.Parse(time.RFC3339, pr.Annotations[contract.AnnotationReleased]); err == nil &&
			released.After(at) {
			at = released
		}
		if at.After(ended) {
			ended = at
		}
	}
	return ended
}
