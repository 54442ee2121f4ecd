package queue

import (
	"slices"
	"testing"
	"time"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestRunsOfAnotherSecondPassInAnotherSecond(t *testing.T) {
	at := func(ms int64) time.Time { return time.UnixMilli(ms) }
	var turn turnstile
	for _, row := range []struct {
		name      string
		made, now int64
		want      time.Duration
	}{
		{"the first passes", 1000, 1100, 0},
		{"one of the same second passes with it", 1000, 1200, 0},
		{"a younger one waits for the next second", 2000, 1300, 700 * time.Millisecond},
		{"then it passes", 2000, 2000, 0},
		{"an older one that comes late waits for nothing", 1000, 2100, 0},
		{"after it a younger one waits again", 3000, 2200, 800 * time.Millisecond},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := turn.pass(at(row.made), at(row.now)); got != row.want {
				t.Errorf("got %v, want %v", got, row.want)
			}
		})
	}
}

func TestTheOldestRunIsLookedAtFirst(t *testing.T) {
	q := priorityqueue.New[reconcile.Request]("runs")
	defer q.ShutDown()
	for name, second := range map[string]int64{"c": 30, "a": 10, "d": 40, "b": 20} {
		oldestFirst{}.Create(t.Context(), event.CreateEvent{Object: &tektonv1.PipelineRun{
			ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Time{Time: time.Unix(second, 0)}},
		}}, q)
	}
	var got []string
	for range 4 {
		request, _ := q.Get()
		got = append(got, request.Name)
		q.Done(request)
	}
	if !slices.Equal(got, []string{"a", "b", "c", "d"}) {
		t.Errorf("got %v", got)
	}
}
