package queue_test

import (
	"bytes"
	"slices"
	"testing"

	"bflow.dev/bflow/queue/lock/history"
	"bflow.dev/bflow/queue/run"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// TestTheHistoryHasAnEndBeforeAnybodySeesIt looks after every write of every story: from the moment at which Kueue
// can give the quota of a run to the next one, the history says that it is free. Else a controller that is slow, or
// that never hears that its write was stored, leaves a history in which two runs hold what one may.
func TestTheHistoryHasAnEndBeforeAnybodySeesIt(t *testing.T) {
	for title, story := range stories() {
		t.Run(title, func(t *testing.T) {
			w := newWorld(t, 4)
			seen := 0
			w.with(hooked(w.Client, hook{
				before: func(string) error { return nil },
				after: func(call string) error {
					seen += w.ends(call)
					return nil
				},
			}))
			story(w, func() { w.settle("a", "a-a2") })
			if seen == 0 {
				t.Fatal("nobody saw the end of a run")
			}
		})
	}
}

// ends compares what PipelineRuns say with the history, and returns how many have given something back.
func (w *world) ends(call string) (n int) {
	w.T.Helper()
	events, err := history.Read(bytes.NewReader(w.log.Bytes()))
	w.Must(err)
	var runs tektonv1.PipelineRunList
	w.Must(w.Client.List(w.T.Context(), &runs))
	for _, pr := range runs.Items {
		told := func(kinds ...history.Kind) bool {
			return slices.ContainsFunc(events, func(e history.Event) bool {
				return e.Run == ns+"/"+run.ID(&pr) && slices.Contains(kinds, e.Kind)
			})
		}
		switch {
		case run.Released(&pr) && !told(history.Released, history.Forced),
			run.Freed(&pr) && !told(history.Idle, history.Released, history.Forced):
			w.T.Errorf("after %s the quota of run %s is free, and the history does not say so:\n%s", call, pr.Name,
				w.log.String())
		case run.Freed(&pr):
			n++
		}
	}
	return n
}
