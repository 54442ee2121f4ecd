package pipelines

import "time"

// FinishDeadlines divides the time of finally: a tenth is for the pod to start, the summary has its own, and of the
// rest MLflow gets a third when a teardown comes before it. Whole seconds.
func FinishDeadlines(total time.Duration, teardown bool) (down, finalize time.Duration) {
	usable := max(0, total-total/10-SummaryDeadline)
	if !teardown {
		return 0, usable.Truncate(time.Second)
	}
	finalize = (usable / 3).Truncate(time.Second)
	return (usable - finalize).Truncate(time.Second), finalize
}
