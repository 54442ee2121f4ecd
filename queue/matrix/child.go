package matrix

import (
	"cmp"
	"slices"
	"strconv"

	"bflow.dev/bflow/queue/matrix/state"
	"bflow.dev/bflow/queue/retry"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// phase is where the run of a point is.
type phase int

const (
	queued  phase = iota // it waits, or its next attempt is about to
	running              // from its start until nothing of it is left
	ended
)

// child is the run of a point: its attempts in their order, at least one.
type child struct {
	attempts []*tektonv1.PipelineRun
}

// group sorts runs by the point that each is of, counted from 0.
func group(runs []tektonv1.PipelineRun, points int) map[int]*child {
	children := map[int]*child{}
	for i := range runs {
		pr := &runs[i]
		n, err := strconv.Atoi(pr.Annotations[contract.AnnotationPoint])
		if err != nil || n < 1 || n > points {
			continue
		}
		c := children[n-1]
		if c == nil {
			c = &child{}
			children[n-1] = c
		}
		c.attempts = append(c.attempts, pr)
	}
	for _, c := range children {
		slices.SortFunc(c.attempts, func(a, b *tektonv1.PipelineRun) int {
			return cmp.Compare(run.Attempt(a), run.Attempt(b))
		})
	}
	return children
}

func (c *child) last() *tektonv1.PipelineRun { return c.attempts[len(c.attempts)-1] }

// phase judges the last attempt. A run that is over holds its devices until it is released.
func (c *child) phase() phase {
	pr := c.last()
	switch {
	case run.Holding(pr):
		return running
	case !run.Over(pr) && pr.IsPending():
		return queued
	case !run.Over(pr):
		return running
	case retry.Due(pr):
		return queued
	}
	return ended
}

// outcome is what became of a run that has ended.
func (c *child) outcome() state.Outcome {
	pr := c.last()
	next := pr.Annotations[run.AnnotationNext]
	switch {
	case !pr.IsDone(), next != "" && next != retry.None: // the attempt that it names was deleted
		return state.Deleted
	case pr.IsSuccessful():
		return state.Of(verdictOf(pr), true)
	case run.Stopping(pr) && (run.Cause(pr) == "" || run.Cause(pr) == run.CauseDeactivated), run.Cancelling(pr):
		return state.Cancelled
	}
	return state.Of(verdictOf(pr), false)
}

func verdictOf(pr *tektonv1.PipelineRun) string {
	for _, r := range pr.Status.Results {
		if r.Name == contract.ResultVerdict {
			return r.Value.StringVal
		}
	}
	return ""
}

// seconds is how long the run held its devices, 0 for one that never had any.
func (c *child) seconds() float64 {
	pr := c.last()
	began := pr.Status.StartTime
	if began == nil || pr.Status.CompletionTime == nil || !run.Started(pr) {
		return 0
	}
	return max(0, pr.Status.CompletionTime.Sub(began.Time).Seconds())
}

// guarded says whether a run has our finalizer.
func guarded(pr *tektonv1.PipelineRun) bool {
	return slices.Contains(pr.Finalizers, contract.FinalizerMatrix)
}
