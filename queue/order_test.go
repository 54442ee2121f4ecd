package queue

import (
	"slices"
	"testing"
	"time"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestRunsPassInTheOrderInWhichTheyWereMade(t *testing.T) {
	at := func(ms int64) time.Time { return time.UnixMilli(ms) }
	var turn turnstile
	for _, row := range []struct {
		name, run string
		made, now int64
		want      time.Duration
	}{
		{"the first passes", "a", 1000, 1100, 0},
		{"one of the same second waits for the next", "b", 1000, 1200, 800 * time.Millisecond},
		{"another one waits too", "c", 1000, 1300, 700 * time.Millisecond},
		{"the later of them is not let by", "c", 1000, 2000, time.Second},
		{"the earlier passes", "b", 1000, 2001, 0},
		{"then the later", "c", 1000, 3000, 0},
		{"a younger one waits", "e", 4000, 3100, 900 * time.Millisecond},
		{"an older one that comes late is before it", "d", 2000, 3200, 800 * time.Millisecond},
		{"the younger one lets it by", "e", 4000, 4000, time.Second},
		{"who does not come again is forgotten", "e", 4000, 7500, 0},
		{"after a minute runs pass together with those of their second", "f", 4000, 64900, 0},
		{"all of them", "g", 4000, 64950, 0},
		{"but not with those of another second", "h", 4500 + 1000, 65990, 0},
		{"which wait", "i", 6000, 65995, 5 * time.Millisecond},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := turn.pass(types.UID(row.run), at(row.made), at(row.now)); got != row.want {
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
